import { ChatAnthropic } from "@langchain/anthropic";
import { type AIMessage, type AIMessageChunk, HumanMessage, ToolMessage } from "@langchain/core/messages";
import { ChatOpenAI } from "@langchain/openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Dialect } from "../../../contract/protocol.ts";
import { eventually } from "../../support/eventually.ts";
import { expectComplete, onlyRow } from "../../support/billing/settlement.ts";
import { readJournal } from "../../support/servers/simulator-journal.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { createWatchedFetch } from "../../support/wire/watched-fetch.ts";

/** LangChain JS with both of its integrations, each against an upstream of either protocol. */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const MODELS = { chat: "modelx-v4-pro", messages: "modelx-v4-flash" } as const;

interface Cell {
  client: Dialect;
  integration: string;
  upstream: Dialect;
}
const CELLS: Cell[] = [
  { client: "chat", integration: "@langchain/openai", upstream: "chat" },
  { client: "chat", integration: "@langchain/openai", upstream: "messages" },
  { client: "messages", integration: "@langchain/anthropic", upstream: "chat" },
  { client: "messages", integration: "@langchain/anthropic", upstream: "messages" },
];

const tools = [
  { name: "get_weather", description: "Weather of a city", schema: z.object({ city: z.string() }) },
  { name: "get_time", description: "Time in a zone", schema: z.object({ zone: z.string() }) },
];

interface Overrides {
  apiKey?: string;
  modelName?: string;
  thinks?: boolean;
}

function connect({ client, upstream }: Cell, overrides: Overrides = {}) {
  const { apiKey = stack.apiKey, modelName = MODELS[upstream], thinks = false } = overrides;
  const watched = createWatchedFetch();
  const model =
    client === "chat"
      ? new ChatOpenAI({
          model: modelName,
          apiKey,
          configuration: { baseURL: `${stack.baseUrl}/v1`, fetch: watched.fetch },
          ...(thinks ? { modelKwargs: { reasoning_effort: "high" } } : {}),
        })
      : new ChatAnthropic({
          model: modelName,
          apiKey,
          maxTokens: 4096,
          anthropicApiUrl: stack.baseUrl,
          clientOptions: { fetch: watched.fetch },
          ...(thinks ? { thinking: { type: "enabled", budget_tokens: 2048 } } : {}),
        });
  return { watched, model, expected: { model: modelName, interface: client, upstreamProtocol: upstream } };
}

/** A stream's chunks, joined as LangChain joins them. */
async function joined(stream: AsyncIterable<AIMessageChunk>): Promise<{ whole: AIMessageChunk; count: number }> {
  const chunks = await Array.fromAsync(stream);
  return { whole: chunks.reduce((whole, chunk) => whole.concat(chunk)), count: chunks.length };
}

/** Where each integration puts reasoning. */
function reasoningOf(message: AIMessage | AIMessageChunk): unknown {
  const block = message.contentBlocks.find(({ type }) => type === "reasoning");
  return message.additional_kwargs["reasoning_content"] ?? (block?.type === "reasoning" ? block.reasoning : undefined);
}

describe.for(CELLS)("$integration, answered by a $upstream server", (cell) => {
  test("a JSON answer has the usage that is charged, including cached tokens", async () => {
    const { watched, model, expected } = connect(cell);
    const answer = await model.invoke(`${"Hello. ".repeat(40)}[[sim cached=16]]`);
    expect(answer.text).toMatch(/^This is a simulation of modelx-v4/);
    expect(answer.usage_metadata?.input_token_details?.cache_read).toBe(16);
    await expectComplete(stack, watched.requestId(), {
      ...expected,
      prompt: answer.usage_metadata?.input_tokens,
      cached: 16,
      output: answer.usage_metadata?.output_tokens,
    });
  });

  test("a stream arrives in pieces and has the same text as the JSON answer", async () => {
    const { watched, model, expected } = connect(cell);
    const { whole, count } = await joined(await model.stream("Count to twenty."));
    expect(count).toBeGreaterThan(3);
    expect(whole.text).toBe((await connect(cell).model.invoke("Count to twenty.")).text);
    await expectComplete(stack, watched.requestId(), expected);
  });

  test("two tools are called in parallel, and the next turn answers their results", async () => {
    const { watched, model, expected } = connect(cell);
    const bound = model.bindTools(tools);
    const question = new HumanMessage("Weather and time in Oslo? [[sim tools=2]]");
    const asked = await bound.invoke([question]);
    expect(asked.tool_calls?.map(({ name, args }) => ({ name, args }))).toEqual([
      { name: "get_weather", args: { city: "simulated city" } },
      { name: "get_time", args: { zone: "simulated zone" } },
    ]);
    const answer = await bound.invoke([question, asked, ...resultsOf(asked)]);
    expect(answer.text).toContain("get_weather of simulated city | get_time of simulated zone");
    await expectComplete(stack, watched.requestId(), {
      ...expected,
      prompt: answer.usage_metadata?.input_tokens,
      output: answer.usage_metadata?.output_tokens,
    });
  });

  test("streamed tool calls equal those in JSON, and a streamed call can be answered", async () => {
    const bound = connect(cell).model.bindTools(tools);
    const question = new HumanMessage("Weather and time in Oslo? [[sim tools=3]]");
    const { whole } = await joined(await bound.stream([question]));
    const json = await bound.invoke([question]);
    const plain = (message: AIMessage | AIMessageChunk) => message.tool_calls?.map(({ id, name, args }) => ({ id, name, args }));
    expect(plain(whole)).toHaveLength(3);
    expect(plain(whole)).toEqual(plain(json));
    const { whole: answer } = await joined(await bound.stream([question, whole, ...resultsOf(whole)]));
    expect(answer.text).toContain("get_time of simulated zone | get_weather of simulated city");
  });

  test("reasoning is separate from the text, streamed or not, and is sent back with a tool round", async () => {
    const { model } = connect(cell, { thinks: true });
    const bound = model.bindTools(tools);
    const reasoning = "This reasoning is simulated. The question is “Weather in Oslo?”, and the answer repeats it.";
    const question = new HumanMessage("Weather in Oslo? [[sim tool=get_weather]]");
    const { whole } = await joined(await bound.stream([question]));
    const json = await bound.invoke([question]);
    expect([reasoningOf(whole), reasoningOf(json)]).toEqual([reasoning, reasoning]);
    expect(json.text).toBe("");
    const answer = await bound.invoke([question, whole, ...resultsOf(whole)]);
    expect(answer.text).toContain("get_weather of simulated city");
    expect(answer.text).not.toContain("reasoning is simulated");
  });

  test.for(["jsonSchema", "functionCalling"] as const)("an answer matches the client's schema with %s", async (method) => {
    const schema = z.object({ city: z.string(), degrees: z.number(), tags: z.array(z.string()) });
    const { model } = connect(cell);
    const city = await model.withStructuredOutput(schema, { name: "place", method }).invoke("A place.");
    expect(schema.parse(city).city).toBe("simulated city");
  });

  test("a wrong key raises LangChain's authentication error, with our text, after one request (S18)", async () => {
    const { watched, model } = connect(cell, { apiKey: "sk-mg-AbCd****WxYz" });
    await expect(model.invoke("Hello.")).rejects.toMatchObject({
      status: 401,
      lc_error_code: "MODEL_AUTHENTICATION",
      message: expect.stringContaining("masked display form"),
    });
    expect(watched.responses).toHaveLength(1);
  });

  test("an unknown model raises LangChain's model-not-found error, with our text, after one request (S9)", async () => {
    const { watched, model } = connect(cell, { modelName: "gpt-4o" });
    await expect(model.invoke("Hello.")).rejects.toMatchObject({
      status: 404,
      lc_error_code: "MODEL_NOT_FOUND",
      message: expect.stringContaining("modelx-v4-pro or modelx-v4-flash"),
    });
    expect(watched.responses).toHaveLength(1);
  });

  test("an empty balance raises an error with status 402, with our text, after one request (S19)", async () => {
    const name = `poor-langchain-${cell.client}-${cell.upstream}`;
    const { apiKey } = await stack.createAccount({ name, creditNanoUsd: 0n });
    const { watched, model } = connect(cell, { apiKey });
    const refused = { status: 402, message: expect.stringContaining("Insufficient balance") };
    await expect(model.invoke("Hello.")).rejects.toMatchObject(refused);
    expect(watched.responses).toHaveLength(1);
  });

  test("a broken stream throws and never ends cleanly (S22)", async () => {
    const { model } = connect(cell);
    const stream = await model.stream("Break. [[sim cut-after=6]]");
    await expect(joined(stream)).rejects.toThrow(/ended|stopped|closed|cut/i);
  });

  test("a stream that the client aborts is charged for the delivered tokens (S28)", async () => {
    const { watched, model } = connect(cell);
    const abort = new AbortController();
    const stream = await model.stream("Go on and on. [[sim tokens=2000 chunk-ms=20]]", { signal: abort.signal });
    await expect(readUntil(stream, () => abort.abort())).rejects.toThrow(/abort/i);
    const row = await onlyRow(stack, watched.requestId());
    expect(row.outcome).toBe("aborted");
    expect(row.usage.outputTokens).toBeGreaterThan(0);
    expect(row.usage.outputTokens).toBeLessThan(500);
    await eventually(async () => expect((await readJournal(stack.simulatorUrl)).at(-1)?.isAborted).toBe(true));
  });
});

/** Its Anthropic integration adds up the usage of a stream's first and last event, whoever serves it: nothing to compare. */
describe.for(CELLS.filter(({ client }) => client === "chat"))("$integration, usage of a stream by a $upstream server", (cell) => {
  test("is the usage that is charged", async () => {
    const { watched, model, expected } = connect(cell);
    const { whole } = await joined(await model.stream("Count to twenty."));
    const { input_tokens: prompt, output_tokens: output } = whole.usage_metadata ?? {};
    expect(prompt).toBeGreaterThan(0);
    await expectComplete(stack, watched.requestId(), { ...expected, prompt, output });
  });
});

function resultsOf({ tool_calls: calls = [] }: AIMessage | AIMessageChunk): ToolMessage[] {
  return calls.map(
    ({ id = "", name, args }) => new ToolMessage({ tool_call_id: id, content: `${name} of ${Object.values(args).join()}` }),
  );
}

async function readUntil(stream: AsyncIterable<AIMessageChunk>, stop: () => void): Promise<void> {
  let count = 0;
  for await (const chunk of stream) {
    if (chunk.text !== "") count += 1;
    if (count === 5) stop();
  }
}
