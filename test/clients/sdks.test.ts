import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { SERVED_TOOLS } from "../../clients/table.ts";
import { fetchInstaller } from "../support/clients/installer.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import { startTestStack, type TestStack } from "../support/stack.ts";

/** The Python SDKs, and what builds on them, with the variables that the installer's files set. */
let stack: TestStack;
let packages: ClientPackages;
let machine: Machine;
const results: Record<string, object> = {};

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await startTestStack();
  machine = await createMachine();
  const ran = await (await fetchInstaller(stack)).run(machine, ["--yes", "--tools", "openai-sdk,anthropic-sdk"]);
  expect(ran.code, ran.output).toBe(0);
});
afterAll(async () => {
  await machine.remove();
  await stack.stop();
});

const CONVERSATION = path.join(import.meta.dirname, "python/conversation.py");
const IN_SHELL = '. "$HOME/.config/model-gateway/openai.sh"; . "$HOME/.config/model-gateway/anthropic.sh"; exec "$@"';

const seenSchema = z.strictObject({
  client: z.string(),
  text: z.string(),
  pieces: z.number(),
  call: z.unknown(),
  after: z.string(),
  reasoning: z.string().nullable(),
  usage: z.tuple([z.number(), z.number()]),
  streamed: z.tuple([z.number(), z.number()]),
});

interface Cell {
  client: string;
  speaks: "chat" | "messages";
  python: (packages: ClientPackages) => string;
  /** How its package is called, and where its version is pinned. */
  pinned: { name: string; file: "sdks.txt" | "aider.txt" };
}
const sdks = (each: ClientPackages) => each.sdkProgram("python");
const ofAider = (each: ClientPackages) => each.aiderProgram("python");
const CELLS: readonly Cell[] = [
  { client: "openai", speaks: "chat", python: sdks, pinned: { name: "openai", file: "sdks.txt" } },
  { client: "anthropic", speaks: "messages", python: sdks, pinned: { name: "anthropic", file: "sdks.txt" } },
  { client: "langchain-openai", speaks: "chat", python: sdks, pinned: { name: "langchain-openai", file: "sdks.txt" } },
  { client: "langchain-anthropic", speaks: "messages", python: sdks, pinned: { name: "langchain-anthropic", file: "sdks.txt" } },
  { client: "litellm-openai", speaks: "chat", python: ofAider, pinned: { name: "litellm", file: "aider.txt" } },
  { client: "litellm-anthropic", speaks: "messages", python: ofAider, pinned: { name: "litellm", file: "aider.txt" } },
];

/** LiteLLM asks its project for a list of prices; nothing else goes anywhere else. */
const OTHER_HOSTS = ["raw.githubusercontent.com"];

describe.for(CELLS)("$client over $speaks", ({ client, speaks, python, pinned }) => {
  test("text, a stream, a tool round and usage (S2, S12, S13, S14)", async () => {
    const before = await stack.countUsage();
    const ran = await machine.run("sh", ["-c", IN_SHELL, "sh", python(packages), CONVERSATION, client]);
    expect(ran.code, ran.output).toBe(0);
    const seen = seenSchema.parse(JSON.parse(ran.stdout));
    expect(seen.text).toMatch(/^This is a simulation of modelx-v4-pro/);
    expect(seen.pieces).toBeGreaterThan(3);
    expect(seen.call).toEqual({ city: "Oslo" });
    expect(seen.after).toContain("four degrees");
    for (const count of [...seen.usage, ...seen.streamed]) expect(count).toBeGreaterThan(0);
    await stack.idle();
    expect((await stack.countUsage()) - before).toBe(4);
    for (const host of machine.proxy.hosts()) expect(OTHER_HOSTS).toContain(host);

    const requirements = await readFile(path.join(import.meta.dirname, "python", pinned.file), "utf8");
    const version = new RegExp(`^${pinned.name}==(.+)$`, "m").exec(requirements)?.[1];
    const known = SERVED_TOOLS.find(({ tried }) => tried?.package === pinned.name)?.tried;
    expect(known?.version ?? version).toBe(version);
    results[client] = {
      interface: speaks,
      version,
      text: true,
      stream: true,
      tools: true,
      reasoning: seen.reasoning !== null,
      usage: true,
    };
  });
});

test("the command llm answers, streamed, with an OpenAI-style model of its own list", async () => {
  const models = `- model_id: gateway\n  model_name: modelx-v4-pro\n  api_base: ${stack.baseUrl}/v1\n  api_key_name: gateway\n`;
  await machine.write("llm/extra-openai-models.yaml", models);
  await machine.write("llm/keys.json", JSON.stringify({ gateway: stack.apiKey }), 0o600);
  const environment = { LLM_USER_PATH: path.join(machine.home, "llm") };
  const ran = await machine.run(packages.sdkProgram("llm"), ["-m", "gateway", "Hello"], { environment });
  expect(ran.output).toMatch(/^This is a simulation of modelx-v4-pro/);
  expect(ran.code).toBe(0);
});

test("what was seen is what the table of compatibility says (npm run clients:update)", async () => {
  const file = path.join(import.meta.dirname, "../../clients/results/sdks.json");
  await expect(`${JSON.stringify(results, null, 2)}\n`).toMatchFileSnapshot(file);
});
