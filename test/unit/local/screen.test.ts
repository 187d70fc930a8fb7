import { execFile } from "node:child_process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { chatCommand, chooseModel, COLOURED, PLAIN, renderScreen } from "../../../local/screen.ts";

const run = promisify(execFile);

const content = {
  baseUrl: "http://127.0.0.1:8080",
  apiKey: "sk-mg-example",
  served: { chat: ["modelx-chat", "modelx-v4-pro"], messages: ["modelx-v4-flash", "modelx-v4-pro"] },
  settingsFile: "/data/local.env",
  manifestsDirectory: "/manifests",
  logsDirectory: "/data/logs",
};

test("the screen is this", () => {
  expect(renderScreen(content, PLAIN)).toMatchInlineSnapshot(`
    "
    The gateway is ready at http://127.0.0.1:8080

      key        sk-mg-example
      dashboard  http://127.0.0.1:8080/dashboard sign in with DASHBOARD_EMAIL, DASHBOARD_PASSWORD from the settings
      settings   /data/local.env all of this, for source
      manifests  /manifests watched: change a Model and it takes effect
      logs       /data/logs

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

    Ctrl-C stops everything; the data stays, and the next start goes on from it.
    "
  `);
});

test("colours are the only difference where there are any", () => {
  const escape = String.fromCharCode(27);
  const coloured = renderScreen(content, COLOURED);
  expect(coloured).toContain(`${escape}[1m`);
  expect(coloured.replaceAll(new RegExp(`${escape}\\[\\d+m`, "g"), "")).toBe(renderScreen(content, PLAIN));
});

test("a model whose name holds a quote is one word for the shell", async () => {
  const command = chatCommand(content, `it's; echo "no"`).replace("curl -N", "printf '%s\\n'");
  const { stdout } = await run("sh", ["-c", command]);
  expect(stdout).toContain(`"model":"it's; echo \\"no\\""`);
});

test("the commands name a model that is served", () => {
  expect(chooseModel(["other"], "modelx-v4-pro")).toBe("other");
  expect(renderScreen({ ...content, served: { chat: [], messages: [] } }, PLAIN)).toContain(
    "no Model is served on this interface",
  );
});
