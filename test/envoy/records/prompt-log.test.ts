import { once } from "node:events";
import { request as httpRequest } from "node:http";
import Anthropic from "@anthropic-ai/sdk";
import OpenAI, { toFile } from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { readAnswer, readRequest } from "../../../dashboard/prompt-log/transcript/transcript.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, parseApiKey } from "../../../ledger/keys/keys.ts";
import { listRecords, type PromptRecord } from "../../../ledger/prompt-log/records.ts";
import { readPepper } from "../../../local/demo.ts";
import { startDataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import type { TestCustomer, TestProduct } from "../../support/stacks/product.ts";
import { recordedPrompt, textsOf, untilRecorded } from "../../support/billing/recorded-prompt.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";

/** What keys with a prompt log send and get, through Envoy, into Postgres (S60). */
let stack: TestProduct;
let logged: TestCustomer;
const MODEL = "modelx-v4-pro";
const ROME = "Rome? [[sim say=Very%20old.]]";

beforeAll(async () => {
  stack = await borrowStack();
  logged = await stack.createAccount({ name: "logged", creditNanoUsd: 5_000_000_000n });
  await changeKey(stack.database, { accountId: logged.accountId, publicId: publicIdOf(logged) }, { promptLogDays: 7 });
  await awaitPromptLog();
});
afterAll(() => stack.stop());

const awaitPromptLog = () => untilRecorded(stack, () => send("{}"), logged.accountId);

function publicIdOf({ apiKey }: TestCustomer): string {
  const parsed = parseApiKey(apiKey);
  return parsed.kind === "key" ? parsed.publicId : "";
}

const recordsOf = async ({ accountId } = logged) => (await listRecords(stack.database, { accountId, limit: 200 })).records;

const recorded = (requestId: string | null) => recordedPrompt(stack, requestId, logged.accountId);

interface Sent {
  path?: string;
  apiKey?: string;
  headers?: Readonly<Record<string, string>>;
  signal?: AbortSignal;
}

function send(body: string | Buffer, { path = "/v1/chat/completions", apiKey = logged.apiKey, headers, signal }: Sent = {}) {
  return fetch(`${stack.baseUrl}${path}`, {
    method: "POST",
    headers: { authorization: `Bearer ${apiKey}`, "content-type": "application/json", ...headers },
    body,
    ...(signal && { signal }),
  });
}

const chat = (content: string, more: object = {}) =>
  JSON.stringify({ model: MODEL, max_tokens: 200, messages: [{ role: "user", content }], ...more });

/** The last thing that the answer says. */
function lastText({ content: { answer }, interface: client }: PromptRecord): string {
  if (answer === null) throw new Error("there is no answer");
  return readAnswer(answer, client).turns.at(-1)?.parts.at(-1)?.text ?? "";
}

describe.for([false, true])("the request as it was sent, and the answer as the client got it (stream: %j)", (stream) => {
  test.for([
    { path: "/v1/chat/completions", interface: "chat", body: { max_tokens: 200, messages: [{ role: "user", content: ROME }] } },
    { path: "/v1/messages", interface: "messages", body: { max_tokens: 200, messages: [{ role: "user", content: ROME }] } },
    { path: "/v1/responses", interface: "responses", body: { input: ROME } },
  ])("$path", async ({ path, interface: client, body }) => {
    const sent = `{ "model": "${MODEL}", "stream":${stream},\n ${JSON.stringify(body).slice(1)}`;
    const response = await send(sent, { path, headers: { "anthropic-version": "2023-06-01" } });
    const got = await response.text();
    const record = await recorded(response.headers.get("x-request-id"));
    expect(record).toMatchObject({
      interface: client,
      model: MODEL,
      isStream: stream,
      status: 200,
      isWhole: true,
      requestBytes: sent.length,
      keyId: publicIdOf(logged),
    });
    // Keep-alives are no part of the answer.
    const withoutComments = (text = "") => text.replaceAll(/^(: keep-alive|event: ping\ndata: .*)\n\n/gm, "");
    expect(textsOf(record).request).toBe(sent);
    expect(withoutComments(textsOf(record).answer)).toBe(withoutComments(got));
    expect(lastText(record)).toBe("Very old.");
    expect(readRequest(record.content.request, client).turns).toMatchObject([{ role: "user", parts: [{ text: ROME }] }]);
  });
});

test("a stream that its client leaves has what it got, and is marked", async () => {
  const leaving = new AbortController();
  const response = await send(
    chat(`Tell me. [[sim tokens=2000 chunk-ms=20]] ${"word ".repeat(200)}`, { stream: true, max_tokens: 2_000 }),
    {
      signal: leaving.signal,
    },
  );
  const reader = response.body?.getReader();
  await reader?.read();
  leaving.abort();
  const record = await recorded(response.headers.get("x-request-id"));
  expect(record).toMatchObject({ status: 200, isWhole: false, isStream: true });
  expect(textsOf(record).answer).toContain("data: ");
});

test("refused requests are recorded with their errors, once their body is known", async () => {
  const cases = [
    ['{"model": ', 400],
    [Buffer.from([0x7b, 0xff, 0x7d]), 400],
    [JSON.stringify({ model: "no-such-model", messages: [] }), 404],
    [chat("Fail. [[sim status=400]]"), 400],
    ["", 400],
  ] as const;
  for (const [body, status] of cases) {
    const response = await send(body);
    expect(response.status).toBe(status);
    const got = await response.text();
    if (body === "") continue;
    const record = await recorded(response.headers.get("x-request-id"));
    expect(record).toMatchObject({ status, isWhole: true });
    expect(textsOf(record).answer).toBe(got);
    expect(record.content.request.text).toEqual(Buffer.from(body));
  }
});

test("credentials and pictures are not recorded, and long texts are cut", async () => {
  const picture = `data:image/png;base64,${Buffer.alloc(300_000, "\x89PNG picture").toString("base64")}`;
  const content = [
    { type: "text", text: `My key is ${stack.apiKey}.` },
    { type: "image_url", image_url: { url: picture } },
  ];
  const body = JSON.stringify({ model: MODEL, max_tokens: 50, messages: [{ role: "user", content }] });
  const response = await send(body, { headers: { "x-api-key": logged.apiKey, "x-custom": "custom-secret" } });
  const { request, answer } = textsOf(await recorded(response.headers.get("x-request-id")));
  for (const secret of [stack.apiKey, logged.apiKey, "custom-secret", "iVBOR", "UE5HIHBpY3R1cmU"]) {
    expect(request).not.toContain(secret);
    expect(answer).not.toContain(secret);
  }
  expect(request).toContain("data:image/png;base64,[400,000 bytes of base64, not recorded]");

  const long = await send(chat("word ".repeat(400_000)));
  const record = await recorded(long.headers.get("x-request-id"));
  expect(record.content.request).toMatchObject({ isCut: true });
  expect(record.content.request.text).toHaveLength(1024 * 1024);
  expect(record.requestBytes).toBeGreaterThan(2_000_000);
});

test("other interfaces: vectors and sound are notes, forms are their texts", async () => {
  const openai = new OpenAI({ apiKey: logged.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
  const byInterface = new Map<string, PromptRecord>();
  await openai.embeddings.create({ model: "modelx-embed", input: "Rome" });
  await (await openai.audio.speech.create({ model: "modelx-speech", input: "Rome", voice: "alloy" })).arrayBuffer();
  const file = await toFile(Buffer.alloc(20_000, 1), "a.wav");
  await openai.audio.transcriptions.create({ model: "modelx-transcribe", file, prompt: "Rome" }).catch(() => {});
  await eventually(async () => {
    for (const { requestId, interface: client } of await recordsOf()) byInterface.set(client, await recorded(requestId));
    expect([...byInterface.keys()]).toEqual(expect.arrayContaining(["embeddings", "speech", "transcription"]));
  });
  function of(client: string) {
    const record = byInterface.get(client);
    if (record === undefined) throw new Error(`no ${client} is recorded`);
    return textsOf(record);
  }
  expect(of("embeddings").answer).toMatch(/^\[[\d,]+ bytes of vectors, not recorded\]$/);
  expect(of("speech").answer).toMatch(/^\[[\d,]+ bytes of sound, not recorded\]$/);
  expect(of("speech").request).toContain("Rome");
  expect(JSON.parse(of("transcription").request)).toMatchObject({
    prompt: "Rome",
    file: "[20,000 bytes of a file, not recorded]",
  });
});

test("a key without it leaves nothing, and one that is turned off nothing more", async () => {
  const plain = await stack.createAccount({ name: "plain", creditNanoUsd: 1_000_000_000n });
  expect((await send(chat("Rome?"), { apiKey: plain.apiKey })).status).toBe(200);
  const { accountId } = logged;
  const other = { accountId, name: "other", pepper: await readPepper(stack.directory.pepper), promptLogDays: 7 };
  const { value: apiKey } = await createApiKey(stack.database, other);
  await changeKey(stack.database, { accountId, publicId: publicIdOf(logged) }, { promptLogDays: null });
  // Whether extproc has heard of that or not.
  expect((await send(chat("Oslo?"))).status).toBe(200);
  await eventually(async () => expect((await send(chat("Athens?"), { apiKey })).status).toBe(200));
  // Records are written in the order of their ends.
  await recorded((await send(chat("Athens?"), { apiKey })).headers.get("x-request-id"));
  expect(await recordsOf(plain)).toEqual([]);
  for (const { requestId } of (await recordsOf()).slice(0, 4))
    expect(textsOf(await recorded(requestId)).request).not.toContain("Oslo?");
  await changeKey(stack.database, { accountId, publicId: publicIdOf(logged) }, { promptLogDays: 7 });
  await awaitPromptLog();
});

test("Anthropic's SDK with tools: what was called and what was said are read from the record", async () => {
  const anthropic = new Anthropic({ apiKey: logged.apiKey, baseURL: stack.baseUrl, maxRetries: 0 });
  const tools = [{ name: "get_weather", description: "The weather.", input_schema: { type: "object" as const, properties: {} } }];
  const messages = [{ role: "user" as const, content: "Rome? [[sim tool=get_weather]]" }];
  const streamed = anthropic.messages.stream({ model: MODEL, max_tokens: 300, tools, messages });
  const { response } = await streamed.withResponse();
  await streamed.finalMessage();
  const record = await recorded(response.headers.get("x-request-id"));
  const { answer, request } = record.content;
  expect(readRequest(request, "messages").tools).toEqual([{ name: "get_weather", description: "The weather." }]);
  const parts = answer === null ? [] : readAnswer(answer, "messages").turns.flatMap((turn) => turn.parts);
  expect(parts).toContainEqual(expect.objectContaining({ kind: "tool_call", title: "get_weather" }));
});

test("a client that leaves before its answer has none in its record", async () => {
  const { hostname, port } = new URL(stack.baseUrl);
  const headers = { authorization: `Bearer ${logged.apiKey}`, "content-type": "application/json" };
  const before = (await recordsOf()).length;
  const sent = httpRequest({ hostname, port, path: "/v1/chat/completions", method: "POST", headers });
  sent.on("error", () => {});
  sent.end(chat("Wait. [[sim delay-ms=3000]]"));
  await once(sent, "finish");
  await eventually(async () => expect(await gauge("gateway_open_streams")).toBeGreaterThan(0));
  sent.destroy();
  await eventually(async () => expect((await recordsOf()).length).toBeGreaterThan(before));
  expect((await recordsOf())[0]).toMatchObject({ status: null, isWhole: false });
});

async function gauge(name: string): Promise<number> {
  const metrics = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  return Number(new RegExp(String.raw`^${name} (\d+)$`, "m").exec(metrics)?.[1] ?? 0);
}

test("a request of a batch that the key pays for is recorded like others", async () => {
  const openai = new OpenAI({ apiKey: logged.apiKey, baseURL: `${stack.baseUrl}/v1`, maxRetries: 0 });
  const body = { model: "modelx-v4-flash", max_tokens: 50, messages: [{ role: "user", content: "Asked in a batch." }] };
  const line = { custom_id: "one", method: "POST", url: "/v1/chat/completions", body };
  const file = await openai.files.create({ file: await toFile(Buffer.from(JSON.stringify(line)), "a.jsonl"), purpose: "batch" });
  await openai.batches.create({ input_file_id: file.id, endpoint: "/v1/chat/completions", completion_window: "24h" });
  const record = await eventually(
    async () => {
      const found = (await recordsOf()).find(({ model }) => model === "modelx-v4-flash");
      if (found === undefined) throw new Error("the batch has not run");
      return recorded(found.requestId);
    },
    { withinMs: 30_000 },
  );
  expect(textsOf(record).request).toContain("Asked in a batch.");
  expect(record).toMatchObject({ status: 200, keyId: publicIdOf(logged) });
});

test("a stream that its server breaks off has what came, and the error that its client got", async () => {
  const response = await send(chat("Tell me. [[sim tokens=50 reset-after=5]]", { stream: true }));
  const got = await response.text();
  const record = await recorded(response.headers.get("x-request-id"));
  expect(textsOf(record).answer.replaceAll(": keep-alive\n\n", "")).toBe(got.replaceAll(": keep-alive\n\n", ""));
  expect(got).toContain("upstream_error");
});

test("where the operator has turned it off, nothing is recorded whatever keys say, and what was recorded is deleted", async () => {
  expect((await recordsOf()).length).toBeGreaterThan(0);
  const plane = await startDataPlane(stack, { MAX_PROMPT_LOG_MIB: "0" });
  try {
    await eventually(async () => expect(await recordsOf()).toEqual([]), { withinMs: 20_000 });
    const sent = { authorization: `Bearer ${logged.apiKey}`, "content-type": "application/json" };
    const response = await fetch(`${plane.baseUrl}/v1/chat/completions`, { method: "POST", headers: sent, body: chat("Oslo?") });
    expect(response.status).toBe(200);
    expect(await (await fetch(`${plane.extprocAdminUrl}/metrics`)).text()).not.toContain("gateway_prompt_records_total{");
  } finally {
    await plane.stop();
  }
  const { requestId } = await recorded((await send(chat("Athens?"))).headers.get("x-request-id"));
  expect((await recordsOf()).map((record) => record.requestId)).toEqual([requestId]);
});
