import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import type { Destinations, ModelServer } from "../../../local/destinations.ts";
import { chatCommand, chooseModel, COLOURED, PLAIN, renderScreen } from "../../../local/screen.ts";

const run = promisify(execFile);

const simulated: ModelServer = { url: "http://127.0.0.1:5/v1", upstreamModel: "any", kind: "simulated" };
const ollama: ModelServer = { url: "http://127.0.0.1:11434/v1", upstreamModel: "llama3.2", kind: "given" };
const destinations: Destinations = new Map([
  ["modelx-v4-pro", [simulated]],
  ["modelx-chat", [simulated]],
  ["modelx-v4-flash", [simulated]],
]);

const content = {
  destinations,
  upstreamModel: undefined,
  advice: [],
  baseUrl: "http://127.0.0.1:8080",
  apiKey: "sk-mg-example",
  signIn: { email: "demo@example.com", password: "a-password" },
  hasProxy: false,
  served: { chat: ["modelx-chat", "modelx-v4-pro"], messages: ["modelx-v4-flash", "modelx-v4-pro"] },
  settingsFile: "/data/local.env",
  manifestsDirectory: "/manifests",
  logsDirectory: "/data/logs",
};

test("the screen looks like this", () => {
  expect(renderScreen(content, PLAIN)).toMatchInlineSnapshot(`
    "
    The gateway is ready at http://127.0.0.1:8080

      key        sk-mg-example
      dashboard  http://127.0.0.1:8080/dashboard
      email      demo@example.com
      password   a-password
      settings   /data/local.env (the same values, to source in a shell)
      manifests  /manifests (edit them: changes take effect within a second)
      logs       /data/logs
      models     modelx-chat      simulated
                 modelx-v4-pro    simulated
                 modelx-v4-flash  simulated

    Chat completions
    curl -N http://127.0.0.1:8080/v1/chat/completions \\
      -H 'authorization: Bearer sk-mg-example' \\
      -H 'content-type: application/json' \\
      -d '{"model":"modelx-v4-pro","stream":true,"messages":[{"role":"user","content":"Hello"}]}'

    Messages
    curl -N http://127.0.0.1:8080/v1/messages \\
      -H 'x-api-key: sk-mg-example' \\
      -H 'anthropic-version: 2023-06-01' \\
      -H 'content-type: application/json' \\
      -d '{"model":"modelx-v4-flash","max_tokens":500,"stream":true,"messages":[{"role":"user","content":"Hello"}]}'

    Ctrl-C stops everything. The data is kept for the next start.
    "
  `);
});

test("a password that was changed in the dashboard is not shown", () => {
  const signIn = { email: "demo@example.com", password: undefined };
  expect(renderScreen({ ...content, signIn }, PLAIN)).toContain("\n  password   the one that you set in the dashboard\n");
});

test("colours make the only difference, if enabled", () => {
  const escape = String.fromCharCode(27);
  const coloured = renderScreen(content, COLOURED);
  expect(coloured).toContain(`${escape}[1m`);
  expect(coloured.replaceAll(new RegExp(`${escape}\\[\\d+m`, "g"), "")).toBe(renderScreen(content, PLAIN));
});

test("a model whose name contains a quote is one word for the shell", async () => {
  const command = chatCommand(content, `it's; echo "no"`).replace("curl -N", "printf '%s\\n'");
  const { stdout } = await run("sh", ["-c", command]);
  expect(stdout).toContain(`"model":"it's; echo \\"no\\""`);
});

test("with a proxy in the environment the commands bypass it", () => {
  const commands = renderScreen({ ...content, hasProxy: true }, PLAIN).match(/^curl .*$/gm);
  expect(commands).toStrictEqual([
    "curl -N --noproxy '*' http://127.0.0.1:8080/v1/chat/completions \\",
    "curl -N --noproxy '*' http://127.0.0.1:8080/v1/messages \\",
  ]);
});

test("the commands use a model that is served", () => {
  expect(chooseModel(["other"], "modelx-v4-pro", content)).toBe("other");
  expect(renderScreen({ ...content, served: { chat: [], messages: [] } }, PLAIN)).toContain("no Model serves this interface");
});

test("the commands use a model that goes to the given server, preferably the server's own name", () => {
  const some = { destinations: new Map([...destinations, ["modelx-v4-pro", [ollama]]]), upstreamModel: "llama3.2" };
  expect(chooseModel(["modelx-v4-flash", "modelx-v4-pro"], "modelx-v4-flash", some)).toBe("modelx-v4-pro");
  const named = { ...some, destinations: new Map([...some.destinations, ["llama3.2", [ollama]]]) };
  expect(chooseModel(["modelx-v4-pro", "llama3.2"], "modelx-v4-pro", named)).toBe("llama3.2");
});

test("each model's line shows which servers answer for it, and advice comes first", () => {
  const other: ModelServer = { url: "https://provider.example", upstreamModel: "big", kind: "manifest" };
  const lines = renderScreen(
    { ...content, destinations: new Map([...destinations, ["modelx-v4-pro", [ollama, other]]]), advice: ["Mind this."] },
    PLAIN,
  ).split("\n");
  expect(lines[1]).toBe("Note: Mind this.");
  expect(lines).toContain(
    "             modelx-v4-pro    http://127.0.0.1:11434/v1, model llama3.2, https://provider.example, model big",
  );
});

test("of very many models the first dozen is shown, and the number of the others", () => {
  const chat = Array.from({ length: 200 }, (_, index) => `model-${index}`);
  const screen = renderScreen({ ...content, served: { chat, messages: [] } }, PLAIN);
  expect(screen).toContain("model-11");
  expect(screen).not.toContain("model-12");
  expect(screen).toContain("and 188 more");
});
