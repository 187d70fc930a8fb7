import OpenAI from "openai";
import type { Response as ModelResponse, ResponseInputItem, ResponseStreamEvent } from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { chargeNanoUsd } from "../../../ledger/money.ts";
import { makeManifests, SIMULATOR_URLS } from "../../support/stacks/manifests-folder.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** The official SDK's Responses client, against a server of either protocol, through a real Envoy and into a real ledger. */
let stack: TestProduct;
let removeManifests: () => Promise<void>;

const MODELS = [
  { upstream: "chat", model: "by-chat", reasoningIn: "reasoning_content" },
  { upstream: "messages", model: "by-messages", reasoningIn: "thinking" },
] as const;

beforeAll(async () => {
  const manifests = await makeManifests([
    { name: "by-chat", upstream: "chat", url: SIMULATOR_URLS.chat },
    { name: "by-messages", upstream: "messages", url: SIMULATOR_URLS.messages },
  ]);
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
});
afterAll(async () => {
  await stack.stop();
  await removeManifests();
});

const client = () => new OpenAI({ apiKey: stack.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });

const WEATHER = {
  type: "function",
  name: "get_weather",
  description: "Weather of a city",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;

describe.for(MODELS)("responses, answered by a $upstream server", ({ model, upstream, reasoningIn }) => {
  test("a complete answer has the SDK's output_text, and is charged by the usage that it shows (S12, S28)", async () => {
    const { data, response } = await client()
      .responses.create({ model, instructions: "Be short.", input: "Say hello.", metadata: { run: "7" } })
      .withResponse();
    expect(data).toMatchObject({
      object: "response",
      status: "completed",
      model,
      store: false,
      metadata: { run: "7" },
      error: null,
    });
    expect(data.id).toMatch(/^resp_[0-9a-f]{32}$/);
    expect(data.output_text).toMatch(/simulat/i);
    expect(response.headers.get("x-gateway-dropped")).toBeNull();
    await expectCharged(response, data);
  });

  test("a stream has every event in order, and the helper assembles the complete response (S14)", async () => {
    const events: ResponseStreamEvent[] = [];
    const stream = client().responses.stream({ model, input: "Count to twenty. [[sim chunk-ms=5]]" });
    for await (const event of stream) events.push(event);
    const final = await stream.finalResponse();
    const deltas = events.flatMap((event) => (event.type === "response.output_text.delta" ? [event.delta] : []));
    expect(deltas.length).toBeGreaterThan(3);
    expect(deltas.join("")).toBe(final.output_text);
    expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
    expect(events.map(({ type }) => type).filter((type) => type !== "response.output_text.delta")).toEqual([
      "response.created",
      "response.in_progress",
      "response.output_item.added",
      "response.content_part.added",
      "response.output_text.done",
      "response.content_part.done",
      "response.output_item.done",
      "response.completed",
    ]);
    expect(final.usage?.total_tokens).toBe((final.usage?.input_tokens ?? 0) + (final.usage?.output_tokens ?? 0));
  });

  test("parallel calls, streamed, are sent back with their outputs (S15)", async () => {
    const question: ResponseInputItem = { role: "user", content: "Rome and Oslo? [[sim tools=2]]" };
    const stream = client().responses.stream({ model, input: [question], tools: [WEATHER] });
    const first = await stream.finalResponse();
    const calls = first.output.filter((item) => item.type === "function_call");
    expect(calls.map(({ name, status }) => ({ name, status }))).toEqual([
      { name: "get_weather", status: "completed" },
      { name: "get_weather", status: "completed" },
    ]);
    expect(new Set(calls.map(({ call_id: id }) => id)).size).toBe(2);
    for (const call of calls) expect(JSON.parse(call.arguments)).toHaveProperty("city");

    const outputs = calls.map(
      ({ call_id }, index) => ({ type: "function_call_output", call_id, output: `${index} degrees` }) as const,
    );
    const second = await client().responses.create({
      model,
      tools: [WEATHER],
      input: [question, ...calls, ...outputs],
    });
    expect(second.output_text).toContain("0 degrees | 1 degrees");
  });

  test("a custom tool accepts and returns free text", async () => {
    const { output } = await client().responses.create({
      model,
      input: "Patch it.",
      tools: [{ type: "custom", name: "apply_patch", description: "Edits files." }],
      tool_choice: { type: "custom", name: "apply_patch" },
    });
    expect(output).toEqual([
      expect.objectContaining({ type: "custom_tool_call", name: "apply_patch", input: expect.any(String) }),
    ]);
  });

  test("a schema's answer is parsed by the SDK", async () => {
    const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"], additionalProperties: false };
    const { output_text: text } = await client().responses.create({
      model,
      input: "Name a city.",
      text: { format: { type: "json_schema", name: "city", schema } },
    });
    expect(JSON.parse(text)).toHaveProperty("city");
  });

  test("reasoning streams as a summary, and is sent back to its own server", async () => {
    const events: ResponseStreamEvent[] = [];
    const stream = client().responses.stream({
      model,
      input: "Why is the sky blue?",
      reasoning: { effort: "high", summary: "auto" },
      include: ["reasoning.encrypted_content"],
      store: false,
    });
    for await (const event of stream) events.push(event);
    const { output } = await stream.finalResponse();
    const [reasoning] = output;
    if (reasoning?.type !== "reasoning") throw new Error("the first item is no reasoning");
    expect(reasoning.summary.map(({ text }) => text).join("")).toMatch(/^This reasoning is simulated/);
    expect(reasoning.encrypted_content).toMatch(/^gw1\./);
    expect(events.filter(({ type }) => type === "response.reasoning_summary_text.delta").length).toBeGreaterThan(1);

    // The server's answer is the body that it got.
    const { output_text: echoed } = await client().responses.create({
      model,
      input: [
        { role: "user", content: "Why is the sky blue?" },
        // What the client shows may be changed or lost: what goes back is what the model thought.
        { ...reasoning, summary: [] },
        { role: "assistant", content: "It scatters light." },
        { role: "user", content: "And at dusk? [[sim echo]]" },
      ],
    });
    expect(echoed).toMatch(new RegExp(`"${reasoningIn}":"This reasoning is simulated`));
  });

  test("an answer that reaches the client's limit is incomplete, with the reason", async () => {
    const { status, incomplete_details: details } = await client().responses.create({
      model,
      input: "Go on. [[sim tokens=500]]",
      max_output_tokens: 20,
    });
    expect({ status, details }).toEqual({ status: "incomplete", details: { reason: "max_output_tokens" } });
  });

  test.for(["cut-after=6", "error-after=6"])(
    "a broken stream (%s) ends as failed, never as complete (S22)",
    async (directive) => {
      const events = await readRaw({ model, stream: true, input: `Go on. [[sim tokens=40 ${directive}]]` });
      expect(events.slice(-2).map(({ type }) => type)).toEqual(["error", "response.failed"]);
      expect(events.map(({ type }) => type)).not.toContain("response.completed");
      const stream = client().responses.stream({ model, input: `Go on. [[sim tokens=40 ${directive}]]` });
      await expect(stream.finalResponse()).rejects.toBeInstanceOf(OpenAI.APIError);
    },
  );

  test("the server's refusal has OpenAI's format, with its class (S17, S22)", async () => {
    const refused = client().responses.create({ model, input: "[[sim status=429 retry-after=3]]" });
    await expect(refused).rejects.toMatchObject({ status: 429, code: "rate_limit_exceeded" });
  });

  test("a JSON answer to a streaming request becomes a stream", async () => {
    const final = await client().responses.stream({ model, input: "Hi. [[sim json]]" }).finalResponse();
    expect(final.status).toBe("completed");
    expect(final.output_text).toMatch(/simulat/i);
  });

  test("the usage row records the interface and the server's protocol", async () => {
    const { response } = await client().responses.create({ model, input: "Hi." }).withResponse();
    const [row] = await stack.usageOf(response.headers.get("x-request-id") ?? "");
    expect(row).toMatchObject({ interface: "responses", upstreamProtocol: upstream, outcome: "complete" });
  });
});

test.for([
  ["previous_response_id", { previous_response_id: "resp_1" }, /whole conversation in `input`/],
  ["store", { store: true }, /Send false, or leave it out/],
  ["background", { background: true }, /set `stream`/],
  ["conversation", { conversation: "conv_1" }, /whole conversation in `input`/],
  ["tools[0].type", { tools: [{ type: "web_search" }] }, /offer a function of your own/],
  ["input[0]", { input: [{ type: "item_reference", id: "msg_1" }] }, /Send the item itself/],
  ["input", { input: undefined, messages: [{ role: "user", content: "Hi." }] }, /\/v1\/chat\/completions/],
] as const)(
  "a request that needs storage or a hosted tool is a 400 that names %s and the remedy (S21)",
  async ([field, members, remedy]) => {
    const response = await send({ model: "by-chat", input: "Hi.", ...members });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { param: field, message: expect.stringMatching(remedy) } });
  },
);

test("a stored response is not found, and the message says that none is stored (S20)", async () => {
  await expect(client().responses.retrieve("resp_1")).rejects.toMatchObject({
    status: 404,
    message: expect.stringContaining("stores responses"),
  });
});

async function send(body: object): Promise<Response> {
  return fetch(`${stack.baseUrl}/v1/responses`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify(body),
  });
}

async function readRaw(body: object): Promise<{ type: string }[]> {
  const text = await (await send(body)).text();
  return text
    .split("\n")
    .filter((line) => line.startsWith("data: "))
    .map((line) => JSON.parse(line.slice("data: ".length)));
}

async function expectCharged(response: Response, { usage }: ModelResponse): Promise<void> {
  const row = await onlyRow(stack, response.headers.get("x-request-id") ?? "");
  expect(row).toMatchObject({ isEstimated: false, outcome: "complete", httpStatus: 200 });
  expect(usage?.input_tokens).toBe(row.usage.inputTokens + row.usage.cachedInputTokens + row.usage.cacheWriteTokens);
  expect(usage?.input_tokens_details.cached_tokens).toBe(row.usage.cachedInputTokens);
  expect(usage?.output_tokens).toBe(row.usage.outputTokens);
  expect(usage?.output_tokens_details.reasoning_tokens).toBe(row.usage.reasoningTokens);
  expect(row.chargeNanoUsd).toBe(chargeNanoUsd(row.usage, row.price));
  expect(row.chargeNanoUsd).toBeGreaterThan(0n);
}
