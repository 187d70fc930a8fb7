import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chargeNanoUsd } from "../../../ledger/money.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Both official SDKs, each against an upstream of either protocol, through a real Envoy and into a real ledger. */
let stack: TestProduct;
beforeAll(async () => {
  stack = await borrowStack();
});
afterAll(() => stack.stop());

/** By the protocol of the server behind it (local/manifests). */
const MODELS = [
  { upstream: "chat", model: "modelx-v4-pro" },
  { upstream: "messages", model: "modelx-v4-flash" },
] as const;

/** 25 bytes: the messages server counts itself, for the chat server the gateway estimates a message's frame as well. */
const COUNTED = { chat: 12, messages: 7 };

const weatherSchema: Anthropic.Tool.InputSchema = {
  type: "object",
  properties: { city: { type: "string" } },
  required: ["city"],
};

describe.for(MODELS)("chat completions, answered by a $upstream server", ({ model, upstream }) => {
  const client = () => new OpenAI({ apiKey: stack.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });

  test("a JSON answer is charged by its own usage (S6, S11, S12, S28)", async () => {
    const { data, response } = await client()
      .chat.completions.create({
        model,
        messages: [
          { role: "system", content: "Be short." },
          { role: "user", content: "Say hello." },
        ],
      })
      .withResponse();
    expect(data.object).toBe("chat.completion");
    expect(data.model).toBe(model);
    expect(data.choices[0]?.message.role).toBe("assistant");
    expect(data.choices[0]?.message.content).toMatch(/simulat/i);
    await expectSettled(response, {
      model,
      interface: "chat",
      upstreamProtocol: upstream,
      prompt: data.usage?.prompt_tokens,
      output: data.usage?.completion_tokens,
    });
  });

  test("a stream arrives in pieces, ends with [DONE], and shows usage only on request (S14)", async () => {
    const { data, response } = await client()
      .chat.completions.create({
        model,
        stream: true,
        messages: [{ role: "user", content: "Count to twenty. [[sim chunk-ms=5]]" }],
      })
      .withResponse();
    const chunks = await Array.fromAsync(data);
    const text = chunks.map((chunk) => chunk.choices[0]?.delta.content ?? "").join("");
    expect(text).toMatch(/simulat/i);
    expect(chunks.length).toBeGreaterThan(3);
    expect(chunks.filter((chunk) => chunk.usage)).toEqual([]);
    expect(chunks.at(-1)?.choices[0]?.finish_reason).toBe("stop");
    await expectSettled(response, { model, interface: "chat", upstreamProtocol: upstream });
  });

  test("a stream with include_usage ends with the usage that is charged", async () => {
    const { data, response } = await client()
      .chat.completions.create({
        model,
        stream: true,
        stream_options: { include_usage: true },
        messages: [{ role: "user", content: "Hello." }],
      })
      .withResponse();
    const last = (await Array.fromAsync(data)).at(-1);
    expect(last?.choices).toEqual([]);
    expect(last?.usage?.total_tokens).toBeGreaterThan(0);
    await expectSettled(response, {
      model,
      interface: "chat",
      upstreamProtocol: upstream,
      prompt: last?.usage?.prompt_tokens,
      output: last?.usage?.completion_tokens,
    });
  });

  test("a tool is called, and its result answered (S15)", async () => {
    const tools = [
      {
        type: "function" as const,
        function: { name: "get_weather", description: "Weather of a city", parameters: weatherSchema },
      },
    ];
    const question = { role: "user" as const, content: "What is the weather in Oslo? [[sim tool=get_weather]]" };
    const first = await client().chat.completions.create({ model, tools, messages: [question] });
    const call = first.choices[0]?.message.tool_calls?.[0];
    expect(first.choices[0]?.finish_reason).toBe("tool_calls");
    expect(call?.type === "function" ? call.function.name : null).toBe("get_weather");
    expect(JSON.parse(call?.type === "function" ? call.function.arguments : "")).toHaveProperty("city");

    const answer = first.choices[0]?.message;
    const second = await client().chat.completions.create({
      model,
      tools,
      messages: [
        question,
        ...(answer === undefined ? [] : [answer]),
        { role: "tool", tool_call_id: call?.id ?? "", content: "4 degrees, rain" },
      ],
    });
    expect(second.choices[0]?.finish_reason).toBe("stop");
    expect(second.choices[0]?.message.content).toMatch(/4 degrees, rain/);
  });

  test("a streamed tool call is complete when its pieces are joined", async () => {
    const tools = [{ type: "function" as const, function: { name: "get_weather", parameters: weatherSchema } }];
    const stream = client().chat.completions.stream({
      model,
      tools,
      messages: [{ role: "user", content: "Weather in Oslo? [[sim tool=get_weather]]" }],
    });
    const completion = await stream.finalChatCompletion();
    const call = completion.choices[0]?.message.tool_calls?.[0];
    expect(JSON.parse(call?.type === "function" ? call.function.arguments : "")).toHaveProperty("city");
    expect(completion.choices[0]?.finish_reason).toBe("tool_calls");
  });

  test("the model list has every model of this protocol's interfaces (S10)", async () => {
    const models = (await Array.fromAsync(client().models.list())).map((entry) => entry.id);
    expect(models).toEqual([
      "modelx-chat",
      "modelx-embed",
      "modelx-image",
      "modelx-reasoner",
      "modelx-rerank",
      "modelx-speech",
      "modelx-transcribe",
      "modelx-v4-flash",
      "modelx-v4-pro",
    ]);
    expect(await client().models.retrieve(model)).toMatchObject({
      id: model,
      name: expect.stringMatching(/^ModelX v4 /),
      context_length: 200_000,
    });
  });
});

describe.for(MODELS)("messages, answered by a $upstream server", ({ model, upstream }) => {
  const client = () => new Anthropic({ apiKey: stack.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });

  test("a JSON answer is charged by its own usage (S13, S28)", async () => {
    const { data, response } = await client()
      .messages.create({ model, max_tokens: 256, system: "Be short.", messages: [{ role: "user", content: "Say hello." }] })
      .withResponse();
    expect(data.type).toBe("message");
    expect(data.model).toBe(model);
    expect(data.content[0]).toMatchObject({ type: "text", text: expect.stringMatching(/simulat/i) });
    expect(data.stop_reason).toBe("end_turn");
    await expectSettled(response, {
      model,
      interface: "messages",
      upstreamProtocol: upstream,
      prompt: promptOf(data.usage),
      output: data.usage.output_tokens,
    });
  });

  test("a stream follows the Messages protocol's grammar (S14)", async () => {
    const { data, response } = await client()
      .messages.create({
        model,
        max_tokens: 256,
        stream: true,
        messages: [{ role: "user", content: "Count to twenty. [[sim chunk-ms=5]]" }],
      })
      .withResponse();
    const types = (await Array.fromAsync(data)).map((event) => event.type).filter((type) => !isPing(type));
    expect(types.at(0)).toBe("message_start");
    expect(types.at(1)).toBe("content_block_start");
    expect(types.slice(-3)).toEqual(["content_block_stop", "message_delta", "message_stop"]);
    expect(types.filter((type) => type === "content_block_delta").length).toBeGreaterThan(2);
    await expectSettled(response, { model, interface: "messages", upstreamProtocol: upstream });
  });

  test("the SDK's own stream helper agrees with the charge", async () => {
    const stream = client().messages.stream({ model, max_tokens: 256, messages: [{ role: "user", content: "Hello." }] });
    const message = await stream.finalMessage();
    expect(message.content[0]).toMatchObject({ type: "text", text: expect.stringMatching(/simulat/i) });
    const { response } = await stream.withResponse();
    await expectSettled(response, {
      model,
      interface: "messages",
      upstreamProtocol: upstream,
      prompt: promptOf(message.usage),
      output: message.usage.output_tokens,
    });
  });

  test("a tool is called, and its result answered (S15)", async () => {
    const tools = [{ name: "get_weather", description: "Weather of a city", input_schema: weatherSchema }];
    const question = { role: "user" as const, content: "What is the weather in Oslo? [[sim tool=get_weather]]" };
    const first = await client().messages.create({
      model,
      max_tokens: 256,
      tools,
      messages: [question],
    });
    const call = first.content.find((block) => block.type === "tool_use");
    expect(first.stop_reason).toBe("tool_use");
    expect(call?.name).toBe("get_weather");
    expect(call?.input).toHaveProperty("city");

    const second = await client().messages.create({
      model,
      max_tokens: 256,
      tools,
      messages: [
        question,
        { role: "assistant", content: first.content },
        { role: "user", content: [{ type: "tool_result", tool_use_id: call?.id ?? "", content: "4 degrees, rain" }] },
      ],
    });
    expect(second.stop_reason).toBe("end_turn");
    expect(second.content.map((block) => (block.type === "text" ? block.text : "")).join("")).toMatch(/4 degrees, rain/);
  });

  test("the model list uses the Messages format and has only what the key may use (S5, S7, S10)", async () => {
    const models = (await Array.fromAsync(client().models.list())).map((entry) => entry.id);
    expect(models).toEqual(["modelx-v4-flash", "modelx-v4-pro"]);
  });

  test("count_tokens answers and is not charged (S16)", async () => {
    await stack.idle();
    const before = await stack.balanceNanoUsd();
    const counted = await client().messages.countTokens({
      model,
      messages: [{ role: "user", content: "How many tokens are this?" }],
    });
    expect(counted.input_tokens).toBe(COUNTED[upstream]);
    await stack.idle();
    expect(await stack.balanceNanoUsd()).toBe(before);
  });
});

test("balance and usage are returned to the key itself in decimal strings (S29)", async () => {
  const get = async (path: string): Promise<Record<string, unknown>> => {
    const response = await fetch(`${stack.baseUrl}${path}`, { headers: { authorization: `Bearer ${stack.apiKey}` } });
    expect(response.status).toBe(200);
    const body: unknown = await response.json();
    return Object.fromEntries(Object.entries(body ?? {}));
  };
  const balance = await get("/v1/balance");
  expect(balance).toEqual({
    object: "balance",
    currency: "USD",
    available: expect.stringMatching(/^4\.\d{9}$/),
    held: "0.000000000",
  });
  const usage = await get("/v1/usage");
  expect(usage).toMatchObject({ object: "usage", currency: "USD" });
  expect(usage["data"]).toEqual(
    expect.arrayContaining([expect.objectContaining({ model: "modelx-v4-flash", amount: expect.stringMatching(/^0\.\d{9}$/) })]),
  );
});

interface Expected {
  model: string;
  interface: "chat" | "messages";
  upstreamProtocol: "chat" | "messages";
  prompt?: number | undefined;
  output?: number | undefined;
}

/** One usage row with exact tokens, price version and charge, and a ledger entry of just that charge (S27, S28). */
async function expectSettled(response: Response, expected: Expected): Promise<void> {
  const requestId = response.headers.get("x-request-id");
  expect(requestId).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7/);
  expect(response.headers.get("request-id")).toBe(requestId);
  const rows = await stack.usageOf(requestId ?? "");
  expect(rows).toHaveLength(1);
  const [row] = rows;
  if (row === undefined) throw new Error("no usage row");
  expect(row).toMatchObject({
    model: expected.model,
    interface: expected.interface,
    upstreamProtocol: expected.upstreamProtocol,
    isEstimated: false,
    outcome: "complete",
    httpStatus: 200,
  });
  const { usage } = row;
  const prompt = usage.inputTokens + usage.cachedInputTokens + usage.cacheWriteTokens;
  expect(prompt).toBe(expected.prompt ?? prompt);
  expect(usage.outputTokens).toBe(expected.output ?? usage.outputTokens);
  expect(usage.outputTokens).toBeGreaterThan(0);
  expect(row.chargeNanoUsd).toBe(chargeNanoUsd(usage, row.price));
  expect(row.chargeNanoUsd).toBeGreaterThan(0n);
  expect(await stack.entriesOf(requestId ?? "")).toEqual([-row.chargeNanoUsd]);
}

function promptOf(usage: Anthropic.Usage): number {
  return usage.input_tokens + (usage.cache_read_input_tokens ?? 0) + (usage.cache_creation_input_tokens ?? 0);
}

/** Pings may stand anywhere; the SDK's own types do not know them. */
function isPing(type: string): boolean {
  return type === "ping";
}
