import { readFile, symlink } from "node:fs/promises";
import { createServer } from "node:http";
import path from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from "vitest";
import { fetchInstaller, type Installer } from "../support/clients/installer.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** The installer's own promises (S31, S33), with the program that Envoy serves. */
let stack: TestProduct;
let installer: Installer;
let packages: ClientPackages;
let machine: Machine;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
  installer = await fetchInstaller(stack);
});
afterAll(() => stack.stop());
beforeEach(async () => {
  machine = await createMachine();
});
afterEach(() => machine.remove());

const ALL = [
  "claude-code",
  "opencode",
  "qwen-code",
  "codex",
  "aider",
  "continue",
  "cline",
  "crush",
  "openai-sdk",
  "anthropic-sdk",
];
/** Stands before the gateway and writes down what is asked of it. */
async function startForwarder(): Promise<{ url: string; asked: string[]; close(): void }> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization === `Bearer ${stack.apiKey}`}`);
    void fetch(stack.baseUrl + request.url, { headers: { authorization: request.headers.authorization ?? "" } }).then(
      async (answer) => response.writeHead(answer.status).end(await answer.text()),
    );
  });
  const { promise, resolve } = Promise.withResolvers<void>();
  server.listen(0, "127.0.0.1", resolve);
  await promise;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  return { url: `http://127.0.0.1:${port}`, asked, close: () => void server.close() };
}

describe.for([["dash"], ["bash"], ["bash", "--posix"]])("in %s", (shell) => {
  test("every tool is set up, a second run changes nothing, and --uninstall leaves nothing behind (S33)", async () => {
    const empty = await machine.picture();
    const ran = await installer.run(machine, ["--yes", "--tools", ALL.join(",")], { shell });
    expect(ran.code, ran.output).toBe(0);
    const first = await machine.picture();
    const settings = Object.entries(first).filter(([, content]) => content.includes(stack.apiKey));
    expect(settings).toHaveLength(ALL.length);
    for (const [name, content] of settings) expect([name, content.slice(0, 4)]).toEqual([name, "600 "]);
    const folders = Object.entries(first).filter(([name, content]) => /^\d+$/.test(content) && name !== "work");
    for (const [name, mode] of folders) expect([name, mode]).toEqual([name, "700"]);

    const again = await installer.run(machine, ["--yes", "--tools", ALL.join(",")], { shell });
    expect(again.code, again.output).toBe(0);
    expect(again.output).not.toContain("wrote");
    expect(await machine.picture()).toEqual(first);

    const undone = await installer.run(machine, ["--uninstall"], { shell, key: null });
    expect(undone.code, undone.output).toBe(0);
    expect(await machine.picture()).toEqual(empty);
  });
});

test("the served script and its source pass shellcheck", async () => {
  const source = await readFile(path.join(import.meta.dirname, "../../clients/install/install.sh"), "utf8");
  for (const input of [installer.script, source]) {
    const ran = await machine.run(packages.sdkProgram("shellcheck"), ["--shell=sh", "--severity=style", "-"], { input });
    expect(ran.output).toBe("");
  }
});

test("it calls only this service, once, and passes the key to no program as an argument (S31)", async () => {
  // Every program that the shell starts is written down with its arguments, then run.
  const programs = ["curl", "awk", "sed", "grep", "cat", "cp", "mv", "chmod", "tr", "cut", "cksum", "stat", "mkdir", "rm"];
  for (const name of programs) {
    const script = `#!/bin/sh\nprintf '%s\\n' "${name} $*" >>"$HOME/work/arguments"\nexec /usr/bin/${name} "$@"\n`;
    await machine.write(`bin/${name}`, script, 0o755);
  }
  const node = `#!/bin/sh\nprintf '%s\\n' "node $*" >>"$HOME/work/arguments"\nexec '${process.execPath}' "$@"\n`;
  await machine.write("bin/node", node, 0o755);
  const forwarder = await startForwarder();
  const ran = await machine.run("sh", ["-s", "--", "--yes", "--tools", ALL.join(",")], {
    input: installer.script.replaceAll(stack.baseUrl, forwarder.url),
    environment: { PATH: `${machine.home}/bin:/usr/bin:/bin`, MODEL_GATEWAY_API_KEY: stack.apiKey },
  });
  forwarder.close();
  expect(ran.code, ran.output).toBe(0);
  const started = await machine.read("work/arguments");
  expect(started.match(/^curl /gm)).toHaveLength(1);
  expect(started).toMatch(/^node - --yes/m);
  expect(started).not.toContain(stack.apiKey);
  expect(ran.output).not.toContain(stack.apiKey);
  expect(ran.output).not.toContain(stack.apiKey.slice(18));
  expect(machine.proxy.hosts()).toEqual([]);
  expect(forwarder.asked).toEqual(["GET /v1/models true"]);
});

describe("a key that does not work changes nothing", () => {
  test.for([
    ["a wrong one", `sk-mg-${"0".repeat(55)}`, "does not know this key"],
    ["a masked one", "sk-mg-abcd****", "masked form"],
    ["another provider's", "sk-ant-1234", "not a key of this service"],
    ["one with something in it", "sk-mg-abc'; touch x", "not a complete key"],
    ["none", null, "MODEL_GATEWAY_API_KEY"],
  ] as const)("%s (S18)", async ([, key, sentence]) => {
    const before = await machine.picture();
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code"], { key, shell: ["setsid", "--wait", "sh"] });
    expect([ran.code, ran.output.includes(sentence)], ran.output).toEqual([1, true]);
    expect(await machine.picture()).toEqual(before);
  });
});

test("an unreachable service changes nothing", async () => {
  const before = await machine.picture();
  const script = installer.script.replaceAll(stack.baseUrl, "http://127.0.0.1:9");
  const ran = await machine.run("sh", ["-s", "--", "--yes", "--tools", "opencode"], {
    input: script,
    environment: { MODEL_GATEWAY_API_KEY: stack.apiKey },
  });
  expect([ran.code, ran.output.includes("cannot be reached")]).toEqual([1, true]);
  expect(await machine.picture()).toEqual(before);
});

describe("on a machine without", () => {
  /** A PATH that leads to these programs only. */
  async function pathWith(programs: Readonly<Record<string, string>>): Promise<string> {
    await machine.write("bin/x", "");
    for (const [name, file] of Object.entries(programs)) await symlink(file, path.join(machine.home, "bin", name));
    return path.join(machine.home, "bin");
  }

  test.for([
    ["Node.js", undefined],
    ["a new enough Node.js", "#!/bin/sh\necho false\n"],
  ] as const)("%s, it explains the manual steps and changes nothing", async ([, node]) => {
    const search = await pathWith({ cat: "/bin/cat" });
    if (node !== undefined) await machine.write("bin/node", node, 0o755);
    const before = await machine.picture();
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code"], {
      shell: ["/bin/sh"],
      environment: { PATH: search },
    });
    expect([ran.code, ran.output.includes("Node.js 18 or later")], ran.output).toEqual([1, true]);
    expect(ran.output).toContain(`${stack.baseUrl}/install.md`);
    expect(await machine.picture()).toEqual(before);
  });

  test("curl, Node.js checks the key itself (S31)", async () => {
    const environment = { PATH: await pathWith({ cat: "/bin/cat", node: process.execPath }) };
    const options = { shell: ["/bin/sh"], environment };
    const refused = await installer.run(machine, ["--yes", "--tools", "claude-code"], { ...options, key: "sk-mg-0000" });
    expect([refused.code, refused.output.includes("does not know this key")], refused.output).toEqual([1, true]);
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code"], options);
    expect(ran.code, ran.output).toBe(0);
    expect(await machine.read(".claude/settings.json")).toContain(stack.apiKey);
  });
});

test("--dry-run shows what it would write, needs no key, and changes nothing", async () => {
  await machine.write(".claude/settings.json", "{}");
  const before = await machine.picture();
  const ran = await installer.run(machine, ["--dry-run", "--tools", ALL.join(",")], { key: null });
  expect(ran.code, ran.output).toBe(0);
  expect(ran.output).toContain('env › ANTHROPIC_AUTH_TOKEN = "<your key>"');
  expect(await machine.picture()).toEqual(before);
});

test("tools are detected by their command and by their folder", async () => {
  await machine.write("bin/qwen", "#!/bin/sh\n", 0o755);
  await machine.write(".claude/history", "");
  const environment = { PATH: `${machine.home}/bin:${path.dirname(process.execPath)}:/usr/bin:/bin` };
  const ran = await installer.run(machine, ["--dry-run"], { environment });
  expect(ran.output.match(/^ {2}found: .*$/gm)).toEqual(["  found: Claude Code (claude-code)", "  found: Qwen Code (qwen-code)"]);
});

describe("choices", () => {
  test("a tool may name its interface and its model", async () => {
    const ran = await installer.run(machine, ["--yes", "--tools", "opencode:messages:modelx-v4-flash"]);
    expect(ran.code, ran.output).toBe(0);
    const settings = await machine.read(".config/opencode/opencode.json");
    expect(settings).toContain("@ai-sdk/anthropic");
    expect(settings).toContain('"model": "model-gateway/modelx-v4-flash"');
    expect(settings).not.toContain("modelx-chat");
  });

  test.for([
    [["--tools", "emacs"], 'There is no tool "emacs"'],
    [["--tools", "claude-code:chat"], "has no chat interface"],
    [["--tools", "claude-code", "--model", "gpt-5"], 'no model "gpt-5"'],
    [["--tools", "claude-code", "--model", "modelx-chat"], "modelx-v4-pro modelx-v4-flash"],
    [["--tools", "codex", "--model", "modelx-v4-flash"], "modelx-v4-pro"],
    [["--frobnicate"], "no option --frobnicate"],
    [["--interface", "grpc"], "--interface must be"],
    [["--tools"], "--tools needs a value"],
  ] as const)("%j is rejected with one sentence", async ([words, sentence]) => {
    const ran = await installer.run(machine, ["--yes", ...words]);
    expect([ran.code, ran.output.includes(sentence)], ran.output).toEqual([1, true]);
    expect(ran.output).not.toContain("manual steps");
  });

  test("tools without the model are counted apart from files that could not be changed", async () => {
    await machine.write(".claude/settings.json", "[]");
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code,codex:responses:modelx-v4-flash"]);
    expect(ran.code, ran.output).toBe(1);
    expect(ran.output).toContain("1 tool could not be set up, for the reasons above.\n1 file could not be changed: the manual");
  });

  test("a tool's own variable changes where its settings are", async () => {
    const environment = { CLAUDE_CONFIG_DIR: `${machine.home}/elsewhere`, XDG_CONFIG_HOME: `${machine.home}/settings` };
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code,opencode"], { environment });
    expect(ran.code, ran.output).toBe(0);
    expect(await machine.read("elsewhere/settings.json")).toContain(stack.apiKey);
    expect(await machine.read("settings/opencode/opencode.json")).toContain(stack.apiKey);
  });
});

describe("variables of other providers", () => {
  const PROFILE = `# export ANTHROPIC_API_KEY=commented\nexport ANTHROPIC_API_KEY="sk-ant-old-secret"\nexport PATH=$PATH:/x; export ANTHROPIC_MODEL=old-model\nalias x=y\n`;

  test("are listed with file and line, without their values", async () => {
    const file = await machine.write(".bashrc", PROFILE);
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code"], {
      environment: { ANTHROPIC_MODEL: "old-model" },
    });
    expect(ran.code, ran.output).toBe(0);
    expect(ran.output).toContain(`${file}, line 2 sets ANTHROPIC_API_KEY`);
    expect(ran.output).toContain(`${file}, line 3 sets ANTHROPIC_MODEL`);
    expect(ran.output).toContain("ANTHROPIC_MODEL is set in this shell");
    expect(ran.output).not.toMatch(/old-secret|old-model|commented/);
    expect(await machine.read(".bashrc")).toBe(PROFILE);
  });

  test("are commented out with --clear-variables if the line does nothing else, and restored later", async () => {
    await machine.write(".bashrc", PROFILE);
    await machine.write(".config/fish/config.fish", "set -gx ANTHROPIC_API_KEY old\nset -gx EDITOR vi\n");
    const before = await machine.picture();
    const ran = await installer.run(machine, ["--yes", "--tools", "claude-code", "--clear-variables"]);
    expect(ran.code, ran.output).toBe(0);
    expect(await machine.read(".bashrc")).toBe(
      PROFILE.replace('export ANTHROPIC_API_KEY="', '# model-gateway: export ANTHROPIC_API_KEY="'),
    );
    expect(await machine.read(".config/fish/config.fish")).toBe(
      "# model-gateway: set -gx ANTHROPIC_API_KEY old\nset -gx EDITOR vi\n",
    );
    expect(await machine.mode(".bashrc")).toBe("644");
    expect((await installer.run(machine, ["--uninstall"])).code).toBe(0);
    expect(await machine.picture()).toEqual(before);
  });
});

test("a symbolic link to a settings file stays a link", async () => {
  await machine.write("dotfiles/claude.json", '{"a":1}');
  await machine.write(".claude/x", "");
  await symlink("../dotfiles/claude.json", path.join(machine.home, ".claude/settings.json"));
  const before = await machine.picture();
  expect((await installer.run(machine, ["--yes", "--tools", "claude-code"])).code).toBe(0);
  expect((await machine.picture())[".claude/settings.json"]).toBe("→ ../dotfiles/claude.json");
  expect(await machine.read("dotfiles/claude.json")).toContain(stack.apiKey);
  expect((await installer.run(machine, ["--uninstall"])).code).toBe(0);
  expect(await machine.picture()).toEqual(before);
});

describe("at a terminal", () => {
  test("it asks for tools, model and key, and the key is not shown", async () => {
    await machine.write(".qwen/x", "");
    const script = await machine.write("work/install.sh", installer.script);
    const answers = [
      ["Set up Qwen Code?", ""],
      ["Model (", "modelx-v4-flash"],
      ["Key (", stack.apiKey],
    ];
    const words = [path.join(import.meta.dirname, "python/terminal.py"), JSON.stringify(answers), "sh", script];
    const ran = await machine.run(packages.sdkProgram("python"), words);
    expect(ran.code, ran.output).toBe(0);
    expect(ran.output).not.toContain(stack.apiKey);
    expect(await machine.read(".qwen/settings.json")).toContain('"name": "modelx-v4-flash"\n');
  });
});
