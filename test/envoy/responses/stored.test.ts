import { connect, type Socket } from "node:net";
import { createOpenAI } from "@ai-sdk/openai";
import { generateText, isStepCount, tool, type ModelMessage } from "ai";
import OpenAI from "openai";
import type { Response as ModelResponse } from "openai/resources/responses/responses";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { makeManifests, SIMULATOR_URLS } from "../../support/stacks/manifests-folder.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { expectComplete } from "../../support/billing/settlement.ts";
import { readJournal } from "../../support/servers/simulator-journal.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** Models that store responses (docs/decisions/0049), continued by id with the official SDKs, through two gateways of one database. */
let stack: TestProduct;
let second: DataPlane;
let removeManifests: () => Promise<void>;

const MEBIBYTE = 1024 * 1024;
const UPSTREAMS = ["chat", "messages", "responses"] as const;

beforeAll(async () => {
  const storing = UPSTREAMS.map((upstream) => ({ name: upstream, upstream, url: SIMULATOR_URLS[upstream], storeHours: 2 }));
  const manifests = await makeManifests([...storing, { name: "stateless", upstream: "chat", url: SIMULATOR_URLS.chat }]);
  removeManifests = manifests.remove;
  stack = await borrowStack({ manifestsDirectory: manifests.directory, creditNanoUsd: 1_000_000_000_000n });
  second = await startDataPlane(stack, { MAX_BODY_MIB: "64" });
});
afterAll(async () => {
  await second.stop();
  await stack.stop();
  await removeManifests();
});

const clientOf = (baseUrl = stack.baseUrl, apiKey = stack.apiKey) =>
  new OpenAI({ apiKey, baseURL: `${baseUrl}/v1`, maxRetries: 0 });

const WEATHER = {
  type: "function",
  name: "get_weather",
  strict: false,
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
} as const;

async function lastUpstreamBody(): Promise<string> {
  return (await readJournal(stack.simulatorUrl)).at(-1)?.body ?? "";
}

async function expire(responseId: string): Promise<void> {
  const expired = await stack.database.execute("UPDATE stored_response SET expires_at = now() WHERE response_id = $1", [
    responseId,
  ]);
  expect(expired).toBe(1);
}

async function storedCount({ extprocAdminUrl }: DataPlane): Promise<number> {
  const metrics = await (await fetch(`${extprocAdminUrl}/metrics`)).text();
  return Number(/^gateway_stored_responses_total\{result="stored"\} (\d+)$/m.exec(metrics)?.[1] ?? 0);
}

async function bodyBytes({ extprocAdminUrl }: DataPlane): Promise<number | undefined> {
  return (await scrape(extprocAdminUrl)).get("gateway_body_bytes");
}

/** It says how long its body is, and never sends it. */
function beginUpload(baseUrl: string, bytes: number): Socket {
  const { hostname, port } = new URL(baseUrl);
  const socket = connect(Number(port), hostname);
  socket.on("error", () => {});
  const head = ["POST /v1/responses HTTP/1.1", "host: gateway", `authorization: Bearer ${stack.apiKey}`];
  socket.write([...head, `content-length: ${bytes}`, "", "{"].join("\r\n"));
  return socket;
}

function callOf(response: ModelResponse): string {
  const call = response.output.find((item) => item.type === "function_call");
  return call?.type === "function_call" ? call.call_id : "none";
}

describe.for(UPSTREAMS)("answered by a %s server", (model) => {
  test("the tokens of a continued conversation are counted with those of its turns (S16)", async () => {
    const { id } = await clientOf().responses.create({ model, input: `Rome? ${"How is it? ".repeat(100)}` });
    const count = async (asked: object) =>
      (await clientOf().responses.inputTokens.count({ model, input: "And Oslo?", ...asked })).input_tokens;
    expect(await count({ previous_response_id: id })).toBeGreaterThan((await count({})) + 200);
    await expect(count({ previous_response_id: "resp_unknown" })).rejects.toMatchObject({ status: 404 });
  });

  test("the OpenAI SDK continues by previous_response_id, with tools and reasoning, streamed or not", async () => {
    const asked = { model, tools: [WEATHER], reasoning: { effort: "high" as const } };
    const first = await clientOf().responses.create({ ...asked, input: "Rome? [[sim tool=get_weather]]" });
    expect(first).toMatchObject({ store: true, previous_response_id: null });
    const output = { type: "function_call_output", call_id: callOf(first), output: "4 degrees" } as const;
    const streamed = clientOf().responses.stream({ ...asked, previous_response_id: first.id, input: [output] });
    const answer = await streamed.finalResponse();
    expect(answer.output_text).toContain("4 degrees");
    expect(answer).toMatchObject({ store: true, previous_response_id: first.id });

    const { data: third, response } = await clientOf()
      .responses.create({ ...asked, previous_response_id: answer.id, input: "And Oslo?" })
      .withResponse();
    expect(third.previous_response_id).toBe(answer.id);
    const body = await lastUpstreamBody();
    // All of the conversation, each turn once, and the server that gave the reasoning gets it again.
    for (const text of ["Rome?", "4 degrees", "And Oslo?"]) expect(body.split(text).length, text).toBeGreaterThan(1);
    expect(body.indexOf("Rome?")).toBeLessThan(body.indexOf("And Oslo?"));
    expect(body).not.toContain("previous_response_id");
    const { usage } = third;
    await expectComplete(stack, response.headers.get("x-request-id") ?? "", {
      model,
      interface: "responses",
      upstreamProtocol: model,
      prompt: usage?.input_tokens,
      cached: usage?.input_tokens_details?.cached_tokens,
      output: usage?.output_tokens,
    });
  });

  test("Vercel's AI SDK refers to items by id, in a tool loop and in its second turn, after a restart of extproc", async () => {
    const provider = createOpenAI({ apiKey: stack.apiKey, baseURL: `${second.baseUrl}/v1` });
    const tools = {
      get_weather: tool({
        inputSchema: z.object({ city: z.string() }),
        execute: ({ city }) => ({ city, degrees: 4 }),
      }),
    };
    const settings = {
      model: provider(model),
      tools,
      stopWhen: isStepCount(4),
      providerOptions: { openai: { reasoningEffort: "high", reasoningSummary: "auto", forceReasoning: true } },
    };
    const messages: ModelMessage[] = [{ role: "user", content: "Weather in Rome? [[sim tool=get_weather]]" }];
    const first = await generateText({ ...settings, messages });
    expect(first.steps.map(({ finishReason }) => finishReason)).toEqual(["tool-calls", "stop"]);
    expect(first.text).toContain('"degrees":4');

    expect(await second.endExtproc("SIGTERM")).toBe(0);
    await second.startExtproc();
    const sent: string[] = [];
    const watching = createOpenAI({
      apiKey: stack.apiKey,
      baseURL: `${second.baseUrl}/v1`,
      fetch: (input, init) => {
        if (typeof init?.body === "string") sent.push(init.body);
        return fetch(input, init);
      },
    });
    const history: ModelMessage[] = [...messages, ...first.response.messages, { role: "user", content: "And in Oslo?" }];
    const next = await generateText({ ...settings, model: watching(model), messages: history });
    // Without it, the test would show nothing.
    expect(sent[0]).toContain('"item_reference"');
    expect(next.text).toContain("And in Oslo?");
    const body = await lastUpstreamBody();
    expect(body).toContain("simulated city");
    expect(body).not.toContain("item_reference");
  });

  test("the cost of an answer is not stored with it (S45)", async () => {
    const asking = { usage: { include: true } };
    const made = await clientOf().responses.create({ model, input: "Say hello.", ...asking });
    expect(Object(made.usage).cost).toBeGreaterThan(0);
    const stored = await clientOf().responses.retrieve(made.id);
    expect({ ...stored.usage, cost: Object(made.usage).cost }).toEqual(made.usage);
    expect(stored.usage).not.toHaveProperty("cost");
  });

  test("a stored response is read and deleted by its id, only by its own account", async () => {
    const made = await clientOf().responses.create({ model, input: "Say hello." });
    expect(await clientOf(second.baseUrl).responses.retrieve(made.id)).toMatchObject({ id: made.id, output: made.output });

    const earlier = { role: "user" as const, content: "My name is Ada." };
    const listed = await clientOf().responses.create({ model, input: [earlier, { role: "user", content: "Say hello." }] });
    const firstPage = await clientOf(second.baseUrl).responses.inputItems.list(listed.id, { limit: 1, order: "asc" });
    expect(firstPage).toMatchObject({ data: [{ role: "user", content: [{ type: "input_text", text: "My name is Ada." }] }] });
    const items = await Array.fromAsync(clientOf().responses.inputItems.list(listed.id, { limit: 1 }));
    expect(items).toMatchObject([{ content: [{ text: "Say hello." }] }, { content: [{ text: "My name is Ada." }] }]);

    const stranger = await stack.createAccount({ name: `stranger-of-${model}`, creditNanoUsd: 1_000_000_000n });
    const theirs = clientOf(stack.baseUrl, stranger.apiKey);
    await expect(theirs.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404, code: "not_found" });
    await expect(theirs.responses.delete(made.id)).rejects.toMatchObject({ status: 404 });
    await expect(theirs.responses.inputItems.list(made.id)).rejects.toMatchObject({ status: 404, code: "not_found" });
    const continued = theirs.responses.create({ model, input: "Go on.", previous_response_id: made.id });
    await expect(continued).rejects.toMatchObject({
      status: 404,
      code: "previous_response_not_found",
      param: "previous_response_id",
      type: "invalid_request_error",
    });
    const item = { type: "item_reference" as const, id: made.output[0]?.id ?? "" };
    const referring = theirs.responses.create({ model, input: [item, { role: "user", content: "Go on." }] });
    await expect(referring).rejects.toMatchObject({ status: 404, param: "input[0].id" });

    await clientOf().responses.delete(made.id);
    await expect(clientOf().responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  });
});

test("one gateway continues immediately what the other has answered, and expired responses are not found", async () => {
  const first = await clientOf().responses.create({ model: "chat", input: "My name is Ada." });
  const next = await clientOf(second.baseUrl).responses.create({
    model: "messages",
    previous_response_id: first.id,
    input: "What is my name?",
  });
  expect(await lastUpstreamBody()).toContain("My name is Ada.");
  // It is stored now, and has renewed the first.
  await clientOf().responses.retrieve(next.id);
  await expire(first.id);
  const late = clientOf().responses.create({ model: "chat", previous_response_id: next.id, input: "Still there?" });
  await expect(late).rejects.toMatchObject({ status: 404, code: "previous_response_not_found" });
});

test("a conversation far longer than the request that continues it is sent completely", async () => {
  for (const model of UPSTREAMS) {
    const input = "My name is Ada. ".repeat(40_000);
    const first = await clientOf().responses.create({ model, input });
    const next = await clientOf().responses.create({ model, previous_response_id: first.id, input: "What is my name?" });
    expect(next.previous_response_id).toBe(first.id);
    expect(next.usage?.input_tokens).toBeGreaterThan(first.usage?.input_tokens ?? Infinity);
  }
});

test("an item that a short request references so often that it becomes too long is refused as too long (S21)", async () => {
  const { output } = await clientOf().responses.create({ model: "chat", input: `${"x".repeat(200_000)} [[sim echo]]` });
  const item = { type: "item_reference" as const, id: output[0]?.id ?? "" };
  const input = [...Array.from({ length: 300 }, () => item), { role: "user" as const, content: "Go on." }];
  await expect(clientOf().responses.create({ model: "chat", input })).rejects.toMatchObject({ status: 413, param: "input" });
});

test("a request's recalled items are admitted like its body: refused while its account has its share, and served later", async () => {
  const client = clientOf(second.baseUrl);
  const first = await client.responses.create({ model: "chat", input: "word ".repeat(1_500_000) });
  const next = () => client.responses.create({ model: "chat", input: "Go on.", previous_response_id: first.id });
  // Of 64 MiB; from a half on, an account may have a quarter.
  const upload = beginUpload(second.baseUrl, 17 * MEBIBYTE);
  await eventually(async () => expect(await bodyBytes(second)).toBe(17 * MEBIBYTE));
  await expect(next()).rejects.toMatchObject({ status: 429, type: "rate_limit_error", code: "rate_limit_exceeded" });
  upload.destroy();
  await eventually(async () => expect(await bodyBytes(second)).toBe(0));
  expect(await next()).toMatchObject({ previous_response_id: first.id });
  await eventually(async () => expect(await bodyBytes(second)).toBe(0));
});

test("an input that appears twice is refused before anything is inserted into either", async () => {
  const first = await clientOf().responses.create({ model: "chat", input: "Say hello." });
  const response = await fetch(`${stack.baseUrl}/v1/responses`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: `{"model":"chat","previous_response_id":"${first.id}"${',"input":"Go on."'.repeat(1_000)}}`,
  });
  expect(response.status).toBe(400);
  expect(await response.json()).toMatchObject({ error: { param: "input", type: "invalid_request_error" } });
});

test("store: false is not stored, nor is an incomplete answer, and a Model without storage explains the remedy", async () => {
  const unstored = await clientOf().responses.create({ model: "chat", input: "Say hello.", store: false });
  expect(unstored).toMatchObject({ store: false });
  await expect(clientOf().responses.retrieve(unstored.id)).rejects.toMatchObject({ status: 404 });

  const before = await storedCount(second);
  const broken = await clientOf(second.baseUrl).responses.create({
    model: "chat",
    stream: true,
    input: "Count. [[sim cut-after=5]]",
  });
  await expect(Array.fromAsync(broken)).rejects.toBeInstanceOf(OpenAI.APIError);
  const whole = await clientOf(second.baseUrl).responses.create({ model: "chat", input: "Say hello." });
  await clientOf(second.baseUrl).responses.retrieve(whole.id);
  expect(await storedCount(second)).toBe(before + 1);

  const ask = { model: "stateless", input: [{ type: "item_reference" as const, id: "msg_1" }] };
  await expect(clientOf().responses.create(ask)).rejects.toMatchObject({
    status: 400,
    param: "input[0]",
    message: expect.stringMatching(/Send the item itself: SDKs do so with `store: false`/),
  });
});

test("other methods and forms of a response's path are refused by name (S20)", async () => {
  const ask = (method: string, path: string) =>
    fetch(`${stack.baseUrl}/v1/responses/${path}`, { method, headers: { authorization: `Bearer ${stack.apiKey}` } });
  const patched = await ask("PATCH", "resp_1");
  expect([patched.status, patched.headers.get("allow")]).toEqual([405, "GET, HEAD, DELETE"]);
  expect((await ask("GET", "resp_1?stream=true")).status).toBe(400);
  expect((await ask("GET", "resp_1/input_items")).status).toBe(404);
  expect((await ask("GET", "resp_1/cancel")).status).toBe(404);
  expect((await ask("GET", "%00%00")).status).toBe(404);
  const anonymous = await fetch(`${stack.baseUrl}/v1/responses/resp_1`);
  expect(anonymous.status).toBe(401);
});
