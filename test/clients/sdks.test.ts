import { readFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import * as z from "zod";
import { SERVED_TOOLS } from "../../clients/table.ts";
import type { InterfaceName } from "../../clients/tool.ts";
import { expectCharged, readUpstreamRequests } from "../support/clients/charged.ts";
import { fetchInstaller } from "../support/clients/installer.ts";
import { createMachine, type Machine } from "../support/clients/machine.ts";
import { findGoSdks, GO_SDKS_MODULE } from "../support/clients/go-sdks.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import { expectResults } from "../support/clients/results.ts";
import { COMPILE_CACHE } from "../support/test-run/compile-cache.ts";
import { clearJournal } from "../support/servers/simulator-journal.ts";
import type { TestProduct } from "../support/stacks/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";
import { WEATHER } from "./conversation/conversation.ts";

/** The SDKs for Python and Node, and what builds on them, with the variables that the installer's files set. */
let stack: TestProduct;
let packages: ClientPackages;
/** At night only: building it takes a minute, once. */
let goSdks = "";
let machine: Machine;
const results: Record<string, object> = {};

beforeAll(async () => {
  const options = { environment: process.env, onProgress: (line: string) => console.log(line) };
  packages = await findClientPackages(options);
  if (inject("isNight")) goSdks = await findGoSdks(options);
  stack = await borrowStack();
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
  speaks: InterfaceName;
  /** Where it runs; the version is pinned there. */
  from: Surroundings;
  /** How its package is called. */
  package: string;
  /** It reads a stream's input tokens from the first event, when a chat server has not told them yet. */
  missesStreamedInput?: true;
  /** The test that uses the same library, or its sibling, by day, if any does; here, configured by the installer, it runs at night. */
  byDay?: string | null;
}

interface Surroundings {
  program(packages: ClientPackages): readonly string[];
  version(name: string): Promise<string | undefined>;
}

const NODE: Surroundings = {
  program: () => [process.execPath, path.join(import.meta.dirname, "conversation/main.ts")],
  version: async (name) => manifestSchema.parse(JSON.parse(await source("../../package.json"))).devDependencies[name],
};
const SDKS: Surroundings = {
  program: (each) => [each.sdkProgram("python"), CONVERSATION],
  version: (name) => pinnedIn("python/sdks.txt", name),
};
const OF_AIDER: Surroundings = {
  program: (each) => [each.aiderProgram("python"), CONVERSATION],
  version: (name) => pinnedIn("python/aider.txt", name),
};

const GO: Surroundings = {
  program: () => [goSdks],
  version: async (name) =>
    new RegExp(`^\\t${name} v(\\S+)$`, "m").exec(await readFile(path.join(GO_SDKS_MODULE, "go.mod"), "utf8"))?.[1],
};

const VERCEL = "test/envoy/sdks/vercel.test.ts";
const LANGCHAIN = "test/envoy/sdks/langchain.test.ts";
/** Aider is built on LiteLLM. */
const AIDER = "test/clients/tools.test.ts";

const CELLS: readonly Cell[] = [
  { client: "openai", speaks: "chat", from: SDKS, package: "openai" },
  { client: "openai-responses", speaks: "responses", from: SDKS, package: "openai" },
  { client: "openai-node", speaks: "chat", from: NODE, package: "openai" },
  { client: "openai-node-responses", speaks: "responses", from: NODE, package: "openai" },
  { client: "anthropic", speaks: "messages", from: SDKS, package: "anthropic" },
  { client: "anthropic-node", speaks: "messages", from: NODE, package: "@anthropic-ai/sdk" },
  { client: "openai-go", speaks: "chat", from: GO, package: "github.com/openai/openai-go/v3", byDay: null },
  { client: "openai-go-responses", speaks: "responses", from: GO, package: "github.com/openai/openai-go/v3", byDay: null },
  { client: "anthropic-go", speaks: "messages", from: GO, package: "github.com/anthropics/anthropic-sdk-go/v2", byDay: null },
  { client: "ai-sdk-openai-compatible", speaks: "chat", from: NODE, package: "@ai-sdk/openai-compatible", byDay: VERCEL },
  { client: "ai-sdk-openai", speaks: "responses", from: NODE, package: "@ai-sdk/openai", byDay: VERCEL },
  { client: "ai-sdk-anthropic", speaks: "messages", from: NODE, package: "@ai-sdk/anthropic", byDay: VERCEL },
  { client: "langchain-openai", speaks: "chat", from: SDKS, package: "langchain-openai" },
  { client: "langchain-anthropic", speaks: "messages", from: SDKS, package: "langchain-anthropic", byDay: LANGCHAIN },
  { client: "langchain-js-openai", speaks: "chat", from: NODE, package: "@langchain/openai", byDay: LANGCHAIN },
  {
    client: "langchain-js-openai-responses",
    speaks: "responses",
    from: NODE,
    package: "@langchain/openai",
    byDay: LANGCHAIN,
  },
  {
    client: "langchain-js-anthropic",
    speaks: "messages",
    from: NODE,
    package: "@langchain/anthropic",
    missesStreamedInput: true,
    byDay: LANGCHAIN,
  },
  { client: "litellm-openai", speaks: "chat", from: OF_AIDER, package: "litellm", byDay: AIDER },
  { client: "litellm-anthropic", speaks: "messages", from: OF_AIDER, package: "litellm", byDay: AIDER },
];

const manifestSchema = z.looseObject({ devDependencies: z.record(z.string(), z.string()) });

function source(name: string): Promise<string> {
  return readFile(path.join(import.meta.dirname, name), "utf8");
}

async function pinnedIn(file: string, name: string): Promise<string | undefined> {
  return new RegExp(`^${name}==(.+)$`, "m").exec(await source(file))?.[1];
}

const REASONING = "This reasoning is simulated.";

/** Node asks through the proxy, which tells what was asked, only where it is told to. */
const environment = { NODE_USE_ENV_PROXY: "1", ...COMPILE_CACHE };

/** LiteLLM asks its project for a list of prices; nothing else goes anywhere else. */
const OTHER_HOSTS = ["raw.githubusercontent.com"];

describe.for(CELLS.filter(({ byDay }) => byDay === undefined || inject("isNight")))("$client over $speaks", (cell) => {
  test("text, a stream, a tool round and usage (S2, S12, S13, S14)", async () => {
    const { client, speaks, from } = cell;
    const before = await stack.countUsage();
    const ran = await machine.run("sh", ["-c", IN_SHELL, "sh", ...from.program(packages), client], { environment });
    expect(ran.code, ran.output).toBe(0);
    const seen = seenSchema.parse(JSON.parse(ran.stdout));
    expect(seen.text).toMatch(/^This is a simulation of modelx-v4-pro/);
    expect(seen.pieces).toBeGreaterThan(3);
    expect(seen.call).toEqual({ city: "Oslo" });
    expect(seen.after).toContain("four degrees");
    expect(seen.reasoning ?? REASONING).toContain(REASONING);
    const streamed = seen.streamed.slice(cell.missesStreamedInput ? 1 : 0);
    for (const count of [...seen.usage, ...streamed]) expect(count).toBeGreaterThan(0);
    expect(await expectCharged(stack, before, speaks)).toBe(4);
    for (const host of machine.proxy.hosts()) expect(OTHER_HOSTS).toContain(host);

    const version = await from.version(cell.package);
    const known = SERVED_TOOLS.find(({ tried }) => from === SDKS && tried?.package === cell.package)?.tried;
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

/** Its library is openai, which speaks both by day. */
const LLM_SPEAKS = inject("isNight") ? (["chat", "responses"] as const) : (["chat"] as const);

describe.for(LLM_SPEAKS)("the command llm, with a model of its own list, over %s", (speaks) => {
  test("text, a stream, a tool round, reasoning and usage (S2, S12, S14)", async () => {
    const settings = {
      model_id: "gateway",
      model_name: "modelx-v4-pro",
      api_base: `${stack.baseUrl}/v1`,
      api_key_name: "gateway",
      supports_tools: true,
      reasoning: true,
      responses: speaks === "responses",
    };
    await machine.write("llm/extra-openai-models.yaml", JSON.stringify([settings]));
    await machine.write("llm/keys.json", JSON.stringify({ gateway: stack.apiKey }), 0o600);
    const llm = (...words: string[]) =>
      machine.run(packages.sdkProgram("llm"), words, { environment: { LLM_USER_PATH: path.join(machine.home, "llm") } });
    const before = await stack.countUsage();
    await clearJournal(stack.simulatorUrl);

    const streamed = await llm("-m", "gateway", "-u", "-o", "reasoning_effort", "high", "Hello");
    expect(streamed.stdout).toMatch(/This is a simulation of modelx-v4-pro/);
    expect(streamed.output).toMatch(/Token usage: [1-9]\S* input, [1-9]\S* output/);
    expect(streamed.code).toBe(0);
    const whole = await llm("-m", "gateway", "--no-stream", "Hello");
    expect(whole.output).toMatch(/^This is a simulation of modelx-v4-pro/);
    const functions = "def get_weather(city: str) -> str:\n    return f'four degrees in {city}'";
    const asked = await llm("-m", "gateway", "--functions", functions, "--td", WEATHER);
    expect(asked.output).toContain("four degrees in Oslo");
    expect(asked.code).toBe(0);

    expect(await expectCharged(stack, before, speaks)).toBe(4);
    const requests = await readUpstreamRequests(stack);
    expect(requests.map(({ isStreamed }) => isStreamed)).toEqual([true, false, true, true]);
    results[speaks === "chat" ? "llm" : "llm-responses"] = {
      interface: speaks,
      version: await SDKS.version("llm"),
      text: true,
      stream: true,
      tools: true,
      reasoning: requests.some(({ wantsReasoning }) => wantsReasoning),
      usage: true,
    };
  });
});

test("the observed results match the compatibility table (npm run clients:update)", async () => {
  await expectResults(path.join(import.meta.dirname, "../../clients/results/sdks.json"), results);
});
