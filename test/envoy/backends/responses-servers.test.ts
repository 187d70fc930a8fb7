import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ResponseIncludable, ResponseInputItem, Tool } from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { makeManifests, SIMULATOR_URLS } from "../../support/stacks/manifests-folder.ts";
import { expectComplete, onlyRow } from "../../support/billing/settlement.ts";
import { readJournal } from "../../support/servers/simulator-journal.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Model servers that speak Responses, asked by the official SDKs of every interface, through a real Envoy and into a real ledger (S44). */
let stack: TestProduct;
let removeManifests: () => Promise<void>;
const model = "by-responses";

beforeAll(async () => {
  const manifests = await makeManifests([
    // Another name there: each answer has to be given the Model's.
    { name: model, upstream: "responses", url: SIMULATOR_URLS.responses, upstreamModel: "simulated-reasoner" },
    { name: "unlisted", upstream: "responses", url: SIMULATOR_URLS.responses, interfaces: null },
  ]);
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
});
afterAll(async () => {
  await stack.stop();
  await removeManifests();
});

const openai = () => new OpenAI({ apiKey: stack.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: stack.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });

const CITY = {
  type: "object" as const,
  properties: { city: { type: "string" } },
  required: ["city"],
  additionalProperties: false,
};
const settled = { model, upstreamProtocol: "responses" } as const;

describe("chat completions", () => {
  const tools: OpenAI.Chat.ChatCompletionTool[] = [{ type: "function", function: { name: "get_weather", parameters: CITY } }];

  test("a complete answer and a stream have the same content, and cost what they show (S12, S14, S28)", async () => {
    const messages = [{ role: "user", content: "Say hello." }] as const;
    const whole = await openai()
      .chat.completions.create({ model, messages: [...messages] })
      .withResponse();
    expect(whole.data).toMatchObject({ object: "chat.completion", model });
    const { usage } = whole.data;
    await expectComplete(stack, whole.response.headers.get("x-request-id") ?? "", {
      ...settled,
      interface: "chat",
      prompt: usage?.prompt_tokens,
      cached: usage?.prompt_tokens_details?.cached_tokens,
      output: usage?.completion_tokens,
    });
    const stream = openai().chat.completions.stream({ model, messages: [...messages], stream_options: { include_usage: true } });
    const final = await stream.finalChatCompletion();
    expect(final.choices[0]?.message.content).toBe(whole.data.choices[0]?.message.content);
    expect(final.usage).toEqual(usage);
  });

  test("parallel calls, streamed, are sent back with their reasoning (S15)", async () => {
    const question = { role: "user", content: "Rome and Oslo? [[sim tools=2]]" } as const;
    const asked = { model, tools, reasoning_effort: "high" as const };
    const first = await openai().chat.completions.create({ ...asked, messages: [question] });
    const answered = first.choices[0]?.message;
    expect(answered).toMatchObject({
      reasoning_content: expect.stringContaining("simulated"),
      reasoning_details: [expect.anything()],
    });
    const calls = answered?.tool_calls ?? [];
    expect(calls).toHaveLength(2);
    const results = calls.map(({ id }, index) => ({ role: "tool", tool_call_id: id, content: `${index} degrees` }) as const);
    const messages = [question, { ...answered, role: "assistant" } as const, ...results];
    const second = await openai().chat.completions.create({ ...asked, messages });
    expect(second.choices[0]?.message.content).toContain("0 degrees | 1 degrees");
    expect(await lastInput()).toContainEqual(
      expect.objectContaining({ type: "reasoning", encrypted_content: expect.any(String) }),
    );
  });

  test("a schema and an image arrive in the server's own format", async () => {
    const image = "data:image/png;base64,iVBORw0KGgo=";
    const { choices } = await openai().chat.completions.create({
      model,
      messages: [
        {
          role: "user",
          content: [
            { type: "text", text: "Which city?" },
            { type: "image_url", image_url: { url: image } },
          ],
        },
      ],
      response_format: { type: "json_schema", json_schema: { name: "city", schema: CITY } },
    });
    expect(JSON.parse(choices[0]?.message.content ?? "")).toHaveProperty("city");
    expect(await lastBody()).toMatchObject({
      store: false,
      text: { format: { type: "json_schema", strict: true } },
      input: [{ content: [{ type: "input_text" }, { type: "input_image", image_url: image }] }],
    });
  });

  test("an answer that reaches its limit ends as such, and a stop for another reason is not a clean end", async () => {
    const cut = await openai().chat.completions.create({
      model,
      messages: [{ role: "user", content: "[[sim tokens=50]]" }],
      max_tokens: 20,
    });
    expect(cut.choices[0]?.finish_reason).toBe("length");
    const filtered = await openai().chat.completions.create({
      model,
      messages: [{ role: "user", content: "[[sim stop=content_filter]]" }],
    });
    expect(filtered.choices[0]?.finish_reason).toBe("content_filter");
  });

  test.for([
    ["status=429", 429],
    ["status=500", 500],
    ["status=401", 502],
    ["garbage", 502],
  ] as const)("a server that answers %s is %s to the client, and free (S22)", async ([directive, status]) => {
    const asked = openai().chat.completions.create({ model, messages: [{ role: "user", content: `[[sim ${directive}]]` }] });
    await expect(asked).rejects.toMatchObject({ status });
  });

  test.for(["cut-after=5", "reset-after=5", "error-after=5", "garbage"])(
    "a stream that ends with %s ends with an error (S22)",
    async (directive) => {
      const stream = await openai().chat.completions.create({
        model,
        stream: true,
        messages: [{ role: "user", content: `Count. [[sim ${directive}]]` }],
      });
      await expect(Array.fromAsync(stream)).rejects.toBeInstanceOf(OpenAI.APIError);
    },
  );
});

describe("messages", () => {
  const tools = [{ name: "get_weather", input_schema: CITY }];

  test("a complete answer and a stream have the same content, and cost what they show (S13, S14, S28)", async () => {
    const asked = { model, max_tokens: 500, messages: [{ role: "user", content: "Say hello." }] } as const;
    const whole = await anthropic()
      .messages.create({ ...asked, messages: [...asked.messages] })
      .withResponse();
    expect(whole.data).toMatchObject({ type: "message", model, stop_reason: "end_turn" });
    const { usage } = whole.data;
    const cached = usage.cache_read_input_tokens ?? 0;
    await expectComplete(stack, whole.response.headers.get("request-id") ?? "", {
      ...settled,
      interface: "messages",
      prompt: usage.input_tokens + cached,
      cached,
      output: usage.output_tokens,
    });
    const final = await anthropic()
      .messages.stream({ ...asked, messages: [...asked.messages] })
      .finalMessage();
    expect(final.content).toEqual(whole.data.content);
    expect(final.usage.output_tokens).toBe(usage.output_tokens);
  });

  test("thinking and calls, streamed, are sent back to their own server (S15)", async () => {
    const question = { role: "user", content: "Rome? [[sim tools=1]]" } as const;
    const asked = { model, max_tokens: 4_000, tools, thinking: { type: "enabled" as const, budget_tokens: 2_000 } };
    const first = await anthropic()
      .messages.stream({ ...asked, messages: [question] })
      .finalMessage();
    expect(first.content.map(({ type }) => type)).toEqual(["thinking", "tool_use"]);
    const results = first.content.flatMap((block) =>
      block.type === "tool_use" ? [{ type: "tool_result", tool_use_id: block.id, content: "4 degrees" } as const] : [],
    );
    const second = await anthropic().messages.create({
      ...asked,
      messages: [question, { role: "assistant", content: first.content }, { role: "user", content: results }],
    });
    expect(JSON.stringify(second.content)).toContain("4 degrees");
    expect(await lastInput()).toContainEqual(
      expect.objectContaining({ type: "reasoning", encrypted_content: expect.any(String) }),
    );
  });

  test("tokens are counted without generating (S16)", async () => {
    const counted = await anthropic().messages.countTokens({ model, messages: [{ role: "user", content: "Say hello." }] });
    expect(counted.input_tokens).toBeGreaterThan(0);
  });

  test("an error in mid-stream is an error event (S22)", async () => {
    const stream = anthropic().messages.stream({
      model,
      max_tokens: 500,
      messages: [{ role: "user", content: "Count. [[sim error-after=5]]" }],
    });
    await expect(stream.finalMessage()).rejects.toBeInstanceOf(Anthropic.APIError);
  });
});

describe("responses", () => {
  const tools: Tool[] = [{ type: "function", name: "get_weather", parameters: CITY, strict: true }];

  test("the server counts tokens itself, and nothing is charged (S16)", async () => {
    const input = "How many tokens are this?";
    const answered = await openai().responses.create({ model, input });
    await stack.idle();
    const before = await stack.balanceNanoUsd();
    const counted = await openai().responses.inputTokens.count({ model, input });
    expect(counted).toEqual({ object: "response.input_tokens", input_tokens: answered.usage?.input_tokens });
    await stack.idle();
    expect(await stack.balanceNanoUsd()).toBe(before);
  });

  test("the server's own answer passes, with the Model's name, and costs what it shows (S12, S28)", async () => {
    const { data, response } = await openai().responses.create({ model, input: "Say hello." }).withResponse();
    expect(data).toMatchObject({ object: "response", status: "completed", model, store: false });
    expect(data.output_text).toMatch(/simulat/i);
    await expectComplete(stack, response.headers.get("x-request-id") ?? "", {
      ...settled,
      interface: "responses",
      prompt: data.usage?.input_tokens,
      cached: data.usage?.input_tokens_details.cached_tokens,
      output: data.usage?.output_tokens,
    });
  });

  test("a stream passes event by event, and the helper assembles the complete response (S14)", async () => {
    const names = new Set<unknown>();
    const stream = openai().responses.stream({
      model,
      input: "Count to twenty. [[sim chunk-ms=2]]",
      reasoning: { effort: "low" },
    });
    const numbers: number[] = [];
    for await (const event of stream) {
      numbers.push(event.sequence_number);
      if ("response" in event) names.add(event.response.model);
    }
    const final = await stream.finalResponse();
    expect(final.output_text).toMatch(/simulat/i);
    expect(numbers).toEqual(numbers.map((_, index) => index));
    expect(names).toEqual(new Set([model]));
  });

  test("parallel calls and reasoning are sent back unchanged (S15)", async () => {
    const question: ResponseInputItem = { role: "user", content: "Rome and Oslo? [[sim tools=2]]" };
    const include: ResponseIncludable[] = ["reasoning.encrypted_content"];
    const asked = { model, tools, include, reasoning: { effort: "high" as const } };
    const { output } = await openai()
      .responses.stream({ ...asked, input: [question] })
      .finalResponse();
    const answered = output.filter((item) => item.type === "reasoning" || item.type === "function_call");
    expect(answered.map(({ type }) => type)).toEqual(["reasoning", "function_call", "function_call"]);
    const outputs = answered.flatMap((item, index) =>
      item.type === "function_call"
        ? [{ type: "function_call_output", call_id: item.call_id, output: `${index} degrees` } as const]
        : [],
    );
    expect(outputs).toHaveLength(2);
    const second = await openai().responses.create({ ...asked, input: [question, ...answered, ...outputs] });
    expect(second.output_text).toContain("1 degrees | 2 degrees");
  });

  test.for([{ store: true }, { previous_response_id: "resp_1" }, { background: true }, { conversation: "conv_1" }])(
    "%j is refused: nothing is stored by the gateway or the server",
    async (stored) => {
      const asked = openai().responses.create({ model, input: "Hi", ...stored });
      await expect(asked).rejects.toMatchObject({ status: 400, param: Object.keys(stored)[0] });
    },
  );

  test("a broken stream is charged for the delivered tokens, and fails in the SDK (S22, S28)", async () => {
    const { data, response } = await openai()
      .responses.create({ model, input: "Count. [[sim reset-after=12]]", stream: true })
      .withResponse();
    await expect(Array.fromAsync(data)).rejects.toBeInstanceOf(OpenAI.APIError);
    expect(await onlyRow(stack, response.headers.get("x-request-id") ?? "")).toMatchObject({ isEstimated: true });
  });
});

describe("a Model that lists no interfaces (S8)", () => {
  test("serves Responses", async () => {
    const { output_text: text } = await openai().responses.create({ model: "unlisted", input: "Say hello." });
    expect(text).toMatch(/simulat/i);
  });

  test("is not found on the other interfaces", async () => {
    const messages = [{ role: "user", content: "Say hello." } as const];
    await expect(openai().chat.completions.create({ model: "unlisted", messages })).rejects.toMatchObject({ status: 404 });
    await expect(anthropic().messages.create({ model: "unlisted", max_tokens: 50, messages })).rejects.toMatchObject({
      status: 404,
    });
  });
});

/** The server's last request. */
async function lastBody(): Promise<unknown> {
  const requests = await readJournal(stack.simulatorUrl);
  return JSON.parse(requests.at(-1)?.body ?? "null");
}

async function lastInput(): Promise<unknown> {
  const body = await lastBody();
  return typeof body === "object" && body !== null && "input" in body ? body.input : null;
}
