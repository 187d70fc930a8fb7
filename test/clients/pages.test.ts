import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { TOOLS } from "../../clients/table.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** What everybody may read about tools, through Envoy (S31, S32). */
let stack: TestProduct;
let packages: ClientPackages;
let machine: Machine;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
  machine = await createMachine();
});
afterAll(async () => {
  await machine.remove();
  await stack.stop();
});

async function get(name: string): Promise<{ status: number; type: string | null; text: string }> {
  const response = await fetch(stack.baseUrl + name);
  return { status: response.status, type: response.headers.get("content-type"), text: await response.text() };
}

test.for([
  ["/install.sh", "text/plain; charset=utf-8", "#!/bin/sh"],
  ["/install.ps1", "text/plain; charset=utf-8", "param("],
  ["/install.md", "text/markdown; charset=utf-8", "# Set up coding tools"],
  ["/llms.txt", "text/plain; charset=utf-8", "# Model Gateway"],
] as const)(
  "%s is served without a key, with this service's address and models, and nothing personal",
  async ([name, type, start]) => {
    const answer = await get(name);
    expect([answer.status, answer.type]).toEqual([200, type]);
    expect(answer.text).toContain(start);
    expect(answer.text).toContain(stack.baseUrl);
    expect(answer.text).not.toMatch(/@[A-Z_]{3,}@|\{base_url\}/);
    expect(answer.text).not.toContain(stack.apiKey.slice(6));
  },
);

test("the instruction for agents explains the key's purpose, checking, undoing, and each tool's settings", async () => {
  const { text } = await get("/install.md");
  expect(text).toContain(`Use the key for calls to ${stack.baseUrl} only.`);
  expect(text).toContain("--uninstall");
  expect(text).toContain("## Check that it worked");
  for (const tool of TOOLS) expect(text).toContain(`### ${tool.name}\n`);
  expect(text).toContain('"ANTHROPIC_AUTH_TOKEN": "<your key>"');
  expect((await get("/llms.txt")).text).toContain(`${stack.baseUrl}/install.md`);
});

test("the instruction's commands work verbatim", async () => {
  const { text } = await get("/install.md");
  const blocks = [...text.matchAll(/```sh\n(curl .*)\n```/g)].map(([, command = ""]) => command);
  expect(blocks).toHaveLength(3);
  const before = await machine.picture();
  for (const command of blocks) {
    const ran = await machine.run("sh", ["-c", command], { environment: { MODEL_GATEWAY_API_KEY: stack.apiKey } });
    expect(ran.code, `${command}\n${ran.output}`).toBe(0);
  }
  expect(await machine.picture()).toEqual(before);
});

test.for(TOOLS)("the dashboard has a page for $name, even for guests", async (tool) => {
  expect((await get("/dashboard/clients")).text).toContain(`href="/dashboard/clients/${tool.id}"`);
  const { status, text } = await get(`/dashboard/clients/${tool.id}`);
  expect([status, text.includes(`<h1>${tool.name}</h1>`)]).toEqual([200, true]);
  expect(text).not.toMatch(/@(base|key|model|id|each)/);
});

test("an unknown tool has no page", async () => {
  expect((await get("/dashboard/clients/emacs")).status).toBe(404);
});

describe("install.ps1", () => {
  const PARSE = [
    "import sys, tree_sitter, tree_sitter_powershell as powershell",
    "tree = tree_sitter.Parser(tree_sitter.Language(powershell.language())).parse(sys.stdin.buffer.read())",
    "sys.exit(1 if tree.root_node.has_error else 0)",
  ].join("\n");
  const parse = (input: string) => machine.run(packages.sdkProgram("python"), ["-c", PARSE], { input });

  test("is PowerShell, as far as a grammar can tell: no registry has PowerShell itself", async () => {
    const { text } = await get("/install.ps1");
    expect((await parse(text)).code).toBe(0);
    expect((await parse(text.replace("function Test-Node {", "function Test-Node {{"))).code).toBe(1);
  });

  test("contains the same program as install.sh, in characters that every Windows reads the same way", async () => {
    const [shell = "", windows = ""] = await Promise.all(
      ["/install.sh", "/install.ps1"].map(async (name) => (await get(name)).text),
    );
    const program = /<<'PROGRAM'\n([\s\S]*?)\nPROGRAM\n/.exec(shell)?.[1] ?? "nothing";
    expect(program).toContain(stack.baseUrl);
    expect(windows).toContain(`@'\n${program}\n'@\n`);
    expect(program).not.toMatch(/^'@/m);
    expect(windows).toMatch(/^[\t\n\x20-\x7E]*$/);
  });
});
