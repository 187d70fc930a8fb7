import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { APICallError, generateText, isStepCount, Output, streamText, tool } from "ai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Dialect } from "../../../contract/protocol.ts";
import { eventually } from "../../support/eventually.ts";
import { expectComplete, onlyRow } from "../../support/billing/settlement.ts";
import { readJournal } from "../../support/servers/simulator-journal.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { createWatchedFetch } from "../../support/wire/watched-fetch.ts";

/** The Vercel AI SDK with both of its providers, each against an upstream of either protocol. */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const MODELS = { chat: "modelx-v4-pro", messages: "modelx-v4-flash" } as const;

interface Cell {
  client: Dialect;
  provider: string;
  upstream: Dialect;
  /** Where reasoning in the history goes: this chat provider keeps no signature, and a messages server takes no other. */
  history: { timesUpstream: number; dropped: string | undefined };
}
const KEPT = { timesUpstream: 1, dropped: undefined };
const DROPPED = { timesUpstream: 0, dropped: "messages[].reasoning_content" };
const CELLS: Cell[] = [
  { client: "chat", provider: "@ai-sdk/openai-compatible", upstream: "chat", history: KEPT },
  { client: "chat", provider: "@ai-sdk/openai-compatible", upstream: "messages", history: DROPPED },
  { client: "messages", provider: "@ai-sdk/anthropic", upstream: "chat", history: KEPT },
  { client: "messages", provider: "@ai-sdk/anthropic", upstream: "messages", history: KEPT },
];

/** How each provider asks for thinking and for an answer that fits a schema. */
const OPTIONS = {
  chat: { gateway: { reasoningEffort: "high" } },
  messages: { anthropic: { thinking: { type: "enabled", budgetTokens: 2048 }, structuredOutputMode: "outputFormat" } },
} as const;

const tools = {
  get_weather: tool({
    description: "Weather of a city",
    inputSchema: z.object({ city: z.string() }),
    execute: ({ city }) => ({ city, degrees: 4 }),
  }),
  get_time: tool({
    description: "Time in a zone",
    inputSchema: z.object({ zone: z.string() }),
    execute: ({ zone }) => `noon in ${zone}`,
  }),
};

interface Overrides {
  apiKey?: string;
  modelName?: string;
}

function connect({ client, upstream }: Cell, { apiKey = stack.apiKey, modelName = MODELS[upstream] }: Overrides = {}) {
  const watched = createWatchedFetch();
  const options = { baseURL: `${stack.baseUrl}/v1`, apiKey, fetch: watched.fetch };
  const chat = createOpenAICompatible({ ...options, name: "gateway", includeUsage: true, supportsStructuredOutputs: true });
  const messages = createAnthropic(options);
  const settings = { model: client === "chat" ? chat(modelName) : messages(modelName), maxOutputTokens: 4096 };
  const expected = { model: modelName, interface: client, upstreamProtocol: upstream };
  return { watched, settings, expected };
}

describe.for(CELLS)("$provider, answered by a $upstream server", (cell) => {
  test("a JSON answer has the usage that is charged, cached tokens too", async () => {
    const { watched, settings, expected } = connect(cell);
    const { text, finishReason, usage } = await generateText({ ...settings, prompt: `${"Hello. ".repeat(40)}[[sim cached=16]]` });
    expect(text).toMatch(/^This is a simulation of modelx-v4/);
    expect(finishReason).toBe("stop");
    expect(usage.inputTokenDetails.cacheReadTokens).toBe(16);
    await expectComplete(stack, watched.requestId(), {
      ...expected,
      prompt: usage.inputTokens,
      cached: 16,
      output: usage.outputTokens,
    });
  });

  test("a stream arrives in pieces and has the same text, and the usage that is charged", async () => {
    const { watched, settings, expected } = connect(cell);
    const prompt = "Count to twenty.";
    const stream = streamText({ ...settings, prompt });
    const pieces = await Array.fromAsync(stream.textStream);
    expect(pieces.length).toBeGreaterThan(3);
    expect(pieces.join("")).toBe((await generateText({ ...connect(cell).settings, prompt })).text);
    const usage = await stream.usage;
    await expectComplete(stack, watched.requestId(), { ...expected, prompt: usage.inputTokens, output: usage.outputTokens });
  });

  test("two tools are called in parallel, and the next step answers their results", async () => {
    const { watched, settings, expected } = connect(cell);
    const { steps, text } = await generateText({
      ...settings,
      tools,
      prompt: "Weather and time in Oslo? [[sim tools=2]]",
      stopWhen: isStepCount(5),
    });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]?.toolCalls.map(({ toolName, input }) => ({ toolName, input }))).toEqual([
      { toolName: "get_weather", input: { city: "simulated city" } },
      { toolName: "get_time", input: { zone: "simulated zone" } },
    ]);
    expect(text).toContain('{"city":"simulated city","degrees":4} | noon in simulated zone');
    expect(watched.responses).toHaveLength(2);
    for (const { response, usage } of steps) {
      const requestId = response.headers?.["x-request-id"] ?? "";
      await expectComplete(stack, requestId, { ...expected, prompt: usage.inputTokens, output: usage.outputTokens });
    }
  });

  test("three tool calls streamed in one step have complete inputs and ids of their own", async () => {
    const { settings } = connect(cell);
    const stream = streamText({ ...settings, tools, prompt: "Weather? [[sim tools=3]]", stopWhen: isStepCount(5) });
    const parts = await Array.fromAsync(stream.fullStream);
    const calls = parts.filter((part) => part.type === "tool-call");
    expect(calls.map(({ toolName }) => toolName)).toEqual(["get_weather", "get_time", "get_weather"]);
    expect(calls.map(({ input }) => Object.keys(Object(input)).join())).toEqual(["city", "zone", "city"]);
    expect(new Set(calls.map(({ toolCallId }) => toolCallId)).size).toBe(3);
    expect(parts.filter((part) => part.type === "error")).toEqual([]);
    expect(await stream.text).toContain("noon in simulated zone");
  });

  test("reasoning is separate from the text, streamed or not", async () => {
    const { settings } = connect(cell);
    const request = { ...settings, providerOptions: OPTIONS[cell.client], prompt: "Think about it." };
    const whole = await generateText(request);
    expect(whole.reasoningText).toBe(
      "This reasoning is simulated. The question is “Think about it.”, and the answer repeats it.",
    );
    expect(whole.text).not.toContain("reasoning is simulated");
    const stream = streamText(request);
    const parts = await Array.fromAsync(stream.fullStream);
    const types = parts.map(({ type }) => type);
    expect(types.filter((type) => type === "reasoning-delta").length).toBeGreaterThan(3);
    expect(types.lastIndexOf("reasoning-delta")).toBeLessThan(types.indexOf("text-delta"));
    expect(await stream.reasoningText).toBe(whole.reasoningText);
    expect(await stream.text).toBe(whole.text);
  });

  test("reasoning is sent back with the history of a tool round, or is listed as dropped", async () => {
    const { settings } = connect(cell);
    const { steps } = await generateText({
      ...settings,
      tools,
      providerOptions: OPTIONS[cell.client],
      prompt: "Weather in Oslo? [[sim tool=get_weather]]",
      stopWhen: isStepCount(3),
    });
    const received = (await readJournal(stack.simulatorUrl)).at(-1)?.body ?? "";
    const sentBack = JSON.stringify(steps[0]?.reasoningText ?? "").slice(1, -1);
    expect({
      timesUpstream: received.split(sentBack).length - 1,
      dropped: steps[1]?.response.headers?.["x-gateway-dropped"],
    }).toEqual(cell.history);
    expect(steps.map(({ reasoningText }) => reasoningText ?? "")).toEqual([
      expect.stringContaining("reasoning is simulated"),
      expect.stringContaining("reasoning is simulated"),
    ]);
  });

  test("an answer matches the client's JSON schema", async () => {
    const { settings } = connect(cell);
    const schema = z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) });
    const { output } = await generateText({
      ...settings,
      providerOptions: OPTIONS[cell.client],
      output: Output.object({ schema }),
      prompt: "A place.",
    });
    expect(schema.parse(output).city).toBe("simulated city");
  });

  test("a wrong key raises the SDK's error for 401, with our text, after one request (S18)", async () => {
    const { watched, settings } = connect(cell, { apiKey: "sk-mg-AbCd****WxYz" });
    const error = await failureOf(generateText({ ...settings, prompt: "Hello." }));
    expect(error).toMatchObject({ statusCode: 401, isRetryable: false, message: expect.stringContaining("masked display form") });
    expect(watched.responses).toHaveLength(1);
  });

  test("an unknown model raises the SDK's error for 404, with our text, after one request (S9)", async () => {
    const { watched, settings } = connect(cell, { modelName: "gpt-4o" });
    const error = await failureOf(generateText({ ...settings, prompt: "Hello." }));
    expect(error).toMatchObject({ statusCode: 404, message: expect.stringContaining("modelx-v4-pro or modelx-v4-flash") });
    expect(watched.responses).toHaveLength(1);
  });

  test("an empty balance raises the SDK's error for 402, with our text, after one request (S19)", async () => {
    const name = `poor-vercel-${cell.client}-${cell.upstream}`;
    const { apiKey } = await stack.createAccount({ name, creditNanoUsd: 0n });
    const { watched, settings } = connect(cell, { apiKey });
    const error = await failureOf(generateText({ ...settings, prompt: "Hello." }));
    expect(error).toMatchObject({ statusCode: 402, message: expect.stringMatching(/^Insufficient balance/) });
    expect(watched.responses).toHaveLength(1);
  });

  test("a broken stream is an error part, never a clean end (S22)", async () => {
    const { settings } = connect(cell);
    const stream = streamText({ ...settings, prompt: "Break. [[sim cut-after=6]]", onError: () => {} });
    const types = (await Array.fromAsync(stream.fullStream)).map(({ type }) => type);
    expect(types).toContain("text-delta");
    expect(types).toContain("error");
  });

  test("a stream that the client aborts ends at once and is charged for the delivered tokens (S28)", async () => {
    const { watched, settings } = connect(cell);
    const abort = new AbortController();
    const prompt = "Go on and on. [[sim tokens=2000 chunk-ms=20]]";
    const stream = streamText({ ...settings, prompt, abortSignal: abort.signal });
    const types: string[] = [];
    for await (const part of stream.fullStream) {
      types.push(part.type);
      if (types.filter((type) => type === "text-delta").length === 5) abort.abort();
    }
    expect(types).toContain("abort");
    const row = await onlyRow(stack, watched.requestId());
    expect(row.outcome).toBe("aborted");
    expect(row.usage.outputTokens).toBeGreaterThan(0);
    expect(row.usage.outputTokens).toBeLessThan(500);
    expect(row.chargeNanoUsd).toBeGreaterThan(0n);
    await eventually(async () => expect((await readJournal(stack.simulatorUrl)).at(-1)?.isAborted).toBe(true));
  });
});

async function failureOf(work: PromiseLike<unknown>): Promise<APICallError> {
  try {
    await work;
  } catch (error) {
    if (APICallError.isInstance(error)) return error;
    throw error;
  }
  throw new Error("the call went well, which it should not");
}

describe("@ai-sdk/openai by Responses, with a model that stores nothing", () => {
  function openai() {
    const watched = createWatchedFetch();
    const provider = createOpenAI({ baseURL: `${stack.baseUrl}/v1`, apiKey: stack.apiKey, fetch: watched.fetch });
    return { watched, model: provider.responses(MODELS.chat) };
  }
  const thinks = { reasoningEffort: "high", forceReasoning: true } as const;

  test("tools' results are answered by default, though reasoning is sent back as a reference (S44)", async () => {
    const { watched, model } = openai();
    const { steps, text } = await generateText({
      model,
      tools,
      prompt: "Weather in Oslo? [[sim tools=1]]",
      providerOptions: { openai: thinks },
      stopWhen: isStepCount(5),
    });
    expect(steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(steps[0]?.reasoningText).toContain("reasoning is simulated");
    expect(text).toContain("simulated city");
    expect(watched.responses[1]?.headers.get("x-gateway-dropped")).toContain("input[].item_reference");
  });

  test("a second turn, whose text is a reference, says that `store: false` sends it in full, and then works (S44)", async () => {
    const first = await generateText({ model: openai().model, prompt: "One.", providerOptions: { openai: thinks } });
    const messages = [
      { role: "user" as const, content: "One." },
      ...first.response.messages,
      { role: "user" as const, content: "Two." },
    ];
    const again = (store?: boolean) =>
      generateText({
        model: openai().model,
        messages,
        providerOptions: { openai: { ...thinks, ...(store === false && { store }) } },
      });
    await expect(again()).rejects.toThrow(/refers to a stored item.*`store: false`/);
    expect((await again(false)).text).toContain("Two.");
  });
});
