import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import { codeBlocks } from "../support/documents/markdown-code.ts";
import { REPOSITORY } from "../support/documents/repository-files.ts";
import { startTestStack, type TestStack } from "../support/stacks/stack.ts";

/** What a newcomer copies from the README, run word for word. */
const run = promisify(execFile);
const ANSWER = "This is a simulation of modelx-v4-pro";
let stack: TestStack;
let packages: ClientPackages;
let readme: string;

beforeAll(async () => {
  readme = await readFile(path.join(REPOSITORY, "README.md"), "utf8");
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await startTestStack();
});
afterAll(() => stack.stop());

test("the README's curl command works with the settings that npm start wrote", async () => {
  const block = onlyBlock("sh", ".data/local.env").replace(".data/local.env", stack.directory.settings);
  expect(await output("sh", ["-c", block], {})).toContain(ANSWER);
});

test("the README's Python example works", async () => {
  expect(await output(packages.sdkProgram("python"), ["-c", onlyBlock("python")])).toContain(ANSWER);
});

test("the README's JavaScript example works", async () => {
  const example = ["--input-type=module", "--eval", onlyBlock("javascript")];
  expect(await output(process.execPath, example)).toContain(ANSWER);
});

test("the README's installer command shows what it would do", async () => {
  const block = onlyBlock("sh", "/install.sh").trim();
  expect(await output("sh", ["-c", `${block} -s -- --dry-run --tools openai-sdk`])).toContain("openai.sh");
});

function onlyBlock(language: string, text = ""): string {
  const blocks = codeBlocks(readme, language).filter((block) => block.includes(text));
  expect(blocks).toHaveLength(1);
  return blocks[0] ?? "";
}

async function output(program: string, parameters: readonly string[], settings = gatewaySettings()): Promise<string> {
  const environment = { PATH: process.env["PATH"] ?? "", HOME: stack.directory.root, ...settings };
  const { stdout } = await run(program, parameters, { cwd: REPOSITORY, env: environment, timeout: 60_000 });
  return stdout;
}

function gatewaySettings(): Record<string, string> {
  return { GATEWAY_BASE_URL: stack.baseUrl, GATEWAY_API_KEY: stack.apiKey };
}
