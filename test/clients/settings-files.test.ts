import { chmod, readdir } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, inject, test } from "vitest";
import { parse as parseYaml } from "yaml";
import { editorOf } from "../../clients/install/program/edit/editors.ts";
import type { Operation } from "../../clients/operations.ts";
import { fetchInstaller, type Installer } from "../support/clients/installer.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/**
 * Settings files as people have them. What comes out is valid, has every line that was there but those it had to change, and
 * goes back byte for byte (S31, S33).
 */
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

const FILES: readonly {
  tool: string;
  name: string;
  file: string;
  text: string;
  /** Lines that may go, because they said the same thing otherwise. */
  replaced?: readonly string[];
}[] = [
  { tool: "claude-code", name: "an empty file", file: ".claude/settings.json", text: "" },
  { tool: "claude-code", name: "an empty object", file: ".claude/settings.json", text: "{}" },
  {
    tool: "claude-code",
    name: "permissions, hooks and an old provider",
    file: ".claude/settings.json",
    text: `{\n    "permissions": {\n        "allow": ["Bash(npm run *)", "Read(~/x \\"y\\" {z})"]\n    },\n    "env": {\n        "ANTHROPIC_API_KEY": "sk-ant-old",\n        "EDITOR": "vi"\n    },\n    "hooks": {}\n}\n`,
    replaced: ['        "ANTHROPIC_API_KEY": "sk-ant-old",', '        "EDITOR": "vi"'],
  },
  {
    tool: "claude-code",
    name: "one line, without an end",
    file: ".claude/settings.json",
    text: `{"model":"opus","env":{"A":"1"}}`,
    replaced: [`{"model":"opus","env":{"A":"1"}}`],
  },
  {
    tool: "opencode",
    name: "comments, trailing commas and another provider",
    file: ".config/opencode/opencode.jsonc",
    text: `{\n\t// mine\n\t"theme": "dark", /* really */\n\t"provider": {\n\t\t"other": { "npm": "x", "options": { "baseURL": "https://a/v1" } }, // keep\n\t},\n\t"model": "other/big",\n}\n`,
    replaced: ['\t"model": "other/big",'],
  },
  {
    tool: "opencode",
    name: "the ends of lines of Windows",
    file: ".config/opencode/opencode.json",
    text: `{\r\n  "theme": "dark",\r\n  "keybinds": {}\r\n}\r\n`,
    replaced: ['  "keybinds": {}\r'],
  },
  {
    tool: "qwen-code",
    name: "other models in the list",
    file: ".qwen/settings.json",
    text: `{\n  "$version": 4,\n  "modelProviders": {\n    "openai": [\n      { "id": "other", "envKey": "OTHER" }\n    ]\n  },\n  "ui": {}\n}\n`,
    replaced: ['      { "id": "other", "envKey": "OTHER" }', '  "ui": {}'],
  },
  {
    tool: "aider",
    name: "comments and another model",
    file: ".aider.conf.yml",
    text: `# my settings\nmodel: gpt-4o   # the old one\ndark-mode: true\nread:\n  - CONVENTIONS.md\n\nauto-commits: false`,
    replaced: ["model: gpt-4o   # the old one"],
  },
  {
    tool: "continue",
    name: "other models, with block texts",
    file: ".continue/config.yaml",
    text: `name: Mine\nversion: 0.1.0\nschema: v1\n\n# models\nmodels:\n  # local\n  - name: Llama\n    provider: ollama\n    model: llama\n    chatOptions:\n      baseSystemMessage: |\n        - name: not an item\n        models: none\n\nrules:\n  - Be brief.\n`,
  },
  {
    tool: "continue",
    name: "a list that is not indented",
    file: ".continue/config.yaml",
    text: `models:\n- name: A\n  provider: ollama\n  model: llama\nname: Mine\nversion: 1.0.0\nschema: v1\n`,
  },
  {
    tool: "claude-code",
    name: "a byte order mark",
    file: ".claude/settings.json",
    text: `\uFEFF{\r\n  "theme": "dark"\r\n}\r\n`,
    replaced: ['  "theme": "dark"\r'],
  },
  {
    tool: "continue",
    name: "a byte order mark",
    file: ".continue/config.yaml",
    text: `\uFEFFname: Mine\nversion: 1.0.0\nschema: v1\n`,
  },
  {
    tool: "opencode",
    name: "a comment behind the last value",
    file: ".config/opencode/opencode.jsonc",
    text: `{\n  "theme": "dark" // for the evening\n}\n`,
    replaced: ['  "theme": "dark" // for the evening'],
  },
  {
    tool: "claude-code",
    name: "100 KB of it",
    file: ".claude/settings.json",
    text: `${JSON.stringify({ permissions: { allow: Array.from({ length: 4000 }, (_each, index) => `Bash(run ${index} "*")`) } }, null, 2)}\n`,
    replaced: ["  }"],
  },
];

async function validated(file: string): Promise<unknown> {
  const text = (await machine.read(file)).replace(/^\uFEFF/, "");
  if (!file.endsWith(".yml") && !file.endsWith(".yaml") && !file.endsWith(".jsonc")) return JSON.parse(text);
  // YAML reads JSON with trailing commas; its comments it does not.
  return parseYaml(file.endsWith("c") ? text.replaceAll(/\/\*.*?\*\/|\/\/ .*$/gm, "").replaceAll("\t", "  ") : text);
}

describe.for(FILES)("$tool: $name", ({ tool, file, text, replaced = [] }) => {
  test("stays valid and complete, contains the gateway's settings, and is restored byte for byte", async () => {
    await machine.write(file, text);
    const before = await machine.picture();
    const ran = await installer.run(machine, ["--yes", "--tools", tool]);
    expect(ran.code, ran.output).toBe(0);
    const written = await machine.read(file);
    expect(JSON.stringify(await validated(file))).toContain(stack.apiKey);
    for (const line of text.split("\n").filter((each) => !replaced.includes(each) && each !== "{}"))
      expect(written.split("\n")).toContain(line);
    expect(await machine.mode(file)).toBe("600");

    const first = await machine.picture();
    expect((await installer.run(machine, ["--yes", "--tools", tool])).code).toBe(0);
    expect(await machine.picture()).toEqual(first);

    expect((await installer.run(machine, ["--uninstall"])).code).toBe(0);
    expect(await machine.picture()).toEqual(before);
  });
});

/** By day one of each format that the installer edits: JSON, JSONC with comments, YAML lines and YAML lists. */
const OF_EACH_FORMAT = [
  "permissions, hooks and an old provider",
  "comments, trailing commas and another provider",
  "comments and another model",
  "other models, with block texts",
];
const CHANGED_LATER = inject("isNight") ? FILES : FILES.filter(({ name }) => OF_EACH_FORMAT.includes(name));

describe.for(CHANGED_LATER)("$tool: $name", ({ tool, file, text }) => {
  test("changed by someone else since: only the gateway's settings are removed", async () => {
    await machine.write(file, text);
    expect((await installer.run(machine, ["--yes", "--tools", tool])).code).toBe(0);
    await machine.write(file, `${await machine.read(file)}\n`);
    const ran = await installer.run(machine, ["--uninstall"]);
    expect(ran.code, ran.output).toBe(0);
    expect(ran.output).toMatch(/removed/);
    const left = await machine.read(file);
    expect(left).not.toContain(stack.apiKey);
    expect(left).not.toContain(stack.baseUrl);
    const plain = (each: string) => each.replaceAll(/\s+/g, "");
    expect(plain(left)).toBe(plain(text === "" ? "{}" : text));
  });

  test("another model later, with a change in between: the change stays, even after --uninstall", async () => {
    await machine.write(file, text);
    expect((await installer.run(machine, ["--yes", "--tools", tool])).code).toBe(0);
    await machine.write(file, `${await machine.read(file)}\n\n`);
    const again = await installer.run(machine, ["--yes", "--tools", tool, "--model", "modelx-v4-flash"]);
    expect(again.code, again.output).toBe(0);
    expect(await machine.read(file)).toContain("modelx-v4-flash");
    expect((await installer.run(machine, ["--uninstall"])).code).toBe(0);
    const left = await machine.read(file);
    expect(left.endsWith("\n\n")).toBe(true);
    expect(left).not.toContain("modelx-v4");
  });
});

const REFUSED = [
  ["claude-code", ".claude/settings.json", "{ broken", "not valid JSON"],
  ["claude-code", ".claude/settings.json", '{\n  // a comment\n  "a": 1\n}\n', "not valid JSON"],
  ["claude-code", ".claude/settings.json", '{"env": []}', "an object"],
  ["opencode", ".config/opencode/opencode.json", '{"a": 1', "} is missing"],
  ["opencode", ".config/opencode/opencode.json", '{"a": "x\ny"}', "a string has no end (line 1)"],
  ["opencode", ".config/opencode/opencode.json", "[1]", "does not begin with {"],
  ["qwen-code", ".qwen/settings.json", '{"modelProviders": {"openai": {}}}', "list"],
  ["aider", ".aider.conf.yml", "{model: x}\n", "lines of a name and a value"],
  ["aider", ".aider.conf.yml", "model: x\nmodel: y\n", "Map keys must be unique"],
  ["continue", ".continue/config.yaml", "name: x\nmodels: [{name: a}]\n", "begin with a dash"],
  ["continue", ".continue/config.yaml", "name: x\n\tmodels: y\n", "not valid YAML"],
] as const;

test.for(REFUSED)("%s: %s with %j is not changed, and the manual steps are shown", async ([tool, file, text, sentence]) => {
  await machine.write(file, text);
  const before = await machine.picture();
  const tried = await installer.run(machine, ["--dry-run", "--tools", tool]);
  expect([tried.code, tried.output.includes(sentence), tried.output.includes(`${file}:`)], tried.output).toEqual([
    1,
    true,
    false,
  ]);
  const ran = await installer.run(machine, ["--yes", "--tools", tool]);
  expect([ran.code, ran.output.includes(sentence), ran.output.includes("<your key>")], ran.output).toEqual([1, true, true]);
  expect(ran.output).not.toContain(stack.apiKey);
  expect((await machine.picture())[file]).toBe(before[file]);
});

test("a read-only file is not changed, and reported", async () => {
  const file = await machine.write(".claude/settings.json", "{}");
  await chmod(file, 0o444);
  const before = await machine.picture();
  const ran = await installer.run(machine, ["--yes", "--tools", "claude-code"]);
  expect([ran.code, ran.output.includes("It is read-only.")], ran.output).toEqual([1, true]);
  expect(await machine.picture()).toEqual(before);
});

test("the gateway's settings are removed even if the tool has rewritten the file", async () => {
  const ran = await installer.run(machine, ["--yes", "--tools", "qwen-code,cline"]);
  expect(ran.code, ran.output).toBe(0);
  const settings: unknown = JSON.parse(await machine.read(".qwen/settings.json"));
  await machine.write(".qwen/settings.json", JSON.stringify({ ...Object(settings), $version: 4 }, null, 4));
  expect((await installer.run(machine, ["--uninstall"])).code).toBe(0);
  expect(JSON.parse(await machine.read(".qwen/settings.json"))).toEqual({ $version: 4 });
  expect(await readdir(path.join(machine.home, ".cline")).catch(() => "gone")).toBe("gone");
});

describe("TOML, as Codex writes it", () => {
  const OPERATIONS: readonly Operation[] = [
    { kind: "set", path: ["model"], value: 'model = "modelx-v4-pro"' },
    { kind: "set", path: ["model_provider"], value: 'model_provider = "model-gateway"' },
    {
      kind: "set",
      path: ["[model_providers.model-gateway]"],
      value: '[model_providers.model-gateway]\nname = "Model Gateway"\nexperimental_bearer_token = "@key@"',
    },
  ];
  const TEXTS = [
    "",
    '# mine\nmodel = "gpt-5" # old\nnotify = [\n  "a", # ]\n  "[b]",\n]\n\n[tools]\nprompt = """\n[not.a.table]\nmodel = "x"\n"""\n',
    '[profiles.fast]\nmodel = "small"\n',
    'model_provider = "other"\n\n[model_providers.other]\nname = \'O # "x"\'\n\n# last words\n',
    '[model_providers.model-gateway]\nname = "an old one"\n\n[mcp_servers."a.b"]\ncommand = "x"\n',
  ];

  const codex = editorOf("toml");

  async function readToml(text: string): Promise<unknown> {
    const program = "import json, sys, tomllib; print(json.dumps(tomllib.loads(sys.stdin.read())))";
    const ran = await machine.run(packages.sdkProgram("python"), ["-c", program], { input: text });
    expect(ran.code, ran.output).toBe(0);
    return JSON.parse(ran.stdout);
  }

  test.for(TEXTS)("%j gets its settings, keeps the rest, and loses them again", async (text) => {
    const written = codex.apply(text, OPERATIONS, "sk-mg-x");
    expect(await readToml(written)).toEqual({
      ...Object(await readToml(text)),
      model: "modelx-v4-pro",
      model_provider: "model-gateway",
      model_providers: {
        ...Object(Object(await readToml(text))["model_providers"]),
        "model-gateway": { name: "Model Gateway", experimental_bearer_token: "sk-mg-x" },
      },
    });
    expect(codex.apply(written, OPERATIONS, "sk-mg-x")).toBe(written);
    expect(codex.revert(written, OPERATIONS, text)).toBe(text);
  });

  test.for([
    '[model_providers]\nmodel-gateway.name = "an old one"\nmodel-gateway.wire_api = "chat"\nother.name = "x"\n\n[tools]\na = 1\n',
    '[model_providers]\n"model-gateway" = { name = "an old one" }\n',
    'model_providers.model-gateway.name = "an old one"\nmodel_providers.other.name = "x"\n',
  ])("%j defines the provider with dotted keys or inline: it becomes a table, and the rest stays", async (text) => {
    const before = Object(await readToml(text));
    const written = codex.apply(text, OPERATIONS, "sk-mg-x");
    const ours = { name: "Model Gateway", experimental_bearer_token: "sk-mg-x" };
    expect(await readToml(written)).toEqual({
      ...before,
      model: "modelx-v4-pro",
      model_provider: "model-gateway",
      model_providers: { ...before.model_providers, "model-gateway": ours },
    });
    expect(codex.apply(written, OPERATIONS, "sk-mg-x")).toBe(written);
    expect(await readToml(codex.revert(written, OPERATIONS, text))).toEqual(before);
  });

  test.for([
    ["model = ", "not valid TOML"],
    ["model = [1,", "not valid TOML"],
    ['model = "x', "not valid TOML"],
    ["just words", "not valid TOML"],
    ["[a]\n[a]", "not valid TOML"],
    ["[model]\nx = 1", "not valid TOML"],
    ['model_providers = { x = { name = "y" } }', "tables"],
    ['[[model_providers]]\nname = "y"', "tables"],
  ] as const)("%j is rejected", ([text, sentence]) => {
    expect(() => codex.apply(text, OPERATIONS, "sk-mg-x")).toThrow(sentence);
  });
});
