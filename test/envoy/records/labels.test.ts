import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import * as z from "zod";
import type { Label } from "../../../contract/labels.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import { keepLabels } from "../../../ledger/labels/account-labels.ts";
import { readLabelsOf } from "../../../ledger/usage/request-labels.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { useScriptedModels } from "../../support/servers/scripted-models.ts";
import { embeddingsAnswer } from "../../../local/simulator/embeddings/response.ts";
import { parseDirective } from "../../../local/simulator/directive.ts";
import { parseEmbeddingsRequest } from "../../../local/simulator/embeddings/request.ts";

/** Tags and end users by the official SDKs, through a real Envoy and into a real ledger (S47). */
interface Received {
  headers: NodeJS.Dict<string | string[]>;
  body: string;
}
/** The model server's last request. */
let received: Received = { headers: {}, body: "" };

const stack = useScriptedModels(
  (request, response, body) => {
    received = { headers: request.headers, body };
    if (request.url?.startsWith("/failing") === true) return void response.writeHead(500).end("{}");
    const isVector = request.url?.endsWith("/embeddings") === true;
    const isHeld = body.includes("never ends");
    if (!isHeld && !isVector && !body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(COMPLETION));
      return;
    }
    if (isVector) {
      const vectors = embeddingsAnswer(parseEmbeddingsRequest(JSON.parse(body)), parseDirective(""));
      return void response.writeHead(200, { "content-type": "application/json" }).end(JSON.stringify(vectors));
    }
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write(`data: ${JSON.stringify(chunk({ role: "assistant", content: "Good morning to you all" }, null))}\n\n`);
    if (isHeld) return;
    response.write(`data: ${JSON.stringify({ ...chunk({}, "stop"), usage: COMPLETION.usage })}\n\n`);
    response.end("data: [DONE]\n\n");
  },
  (url) => [
    { name: "one", interfaces: ["ChatCompletions", "Messages", "Responses"], backends: [at(url, "good")] },
    { name: "several", backends: [at(url, "failing"), { ...at(url, "good"), name: "second", priority: 1 }] },
    {
      name: "vectors",
      interfaces: ["Embeddings"],
      pricing: { inputPerMillion: "1.00" },
      contextWindow: 8_192,
      backends: [at(url, "good")],
    },
  ],
);

const at = (url: string, name: string) => ({ name: "first", protocol: "chat", url: `${url}/${name}` }) as const;

const COMPLETION = {
  id: "c",
  object: "chat.completion",
  created: 1,
  model: "inner",
  choices: [{ index: 0, message: { role: "assistant", content: "Good morning" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 },
};

function chunk(delta: object, finishReason: string | null): object {
  const choices = [{ index: 0, delta, finish_reason: finishReason }];
  return { id: "c", object: "chat.completion.chunk", created: 1, model: "inner", choices };
}

beforeAll(async () => {
  await keepLabels(stack().database, { accountId: stack().accountId, isOn: true });
  // Processes hear of it within a second.
  await eventually(async () => {
    const refused = await chat({ headers: { "x-gateway-tags": "no equals sign" } });
    expect(refused.status).toBe(400);
  });
});

const openai = (headers: Record<string, string> = {}) =>
  new OpenAI({ apiKey: stack().apiKey, baseURL: `${stack().baseUrl}/v1`, maxRetries: 0, defaultHeaders: headers });
const anthropic = (headers: Record<string, string> = {}) =>
  new Anthropic({ apiKey: stack().apiKey, baseURL: stack().baseUrl, maxRetries: 0, defaultHeaders: headers });
const idOf = (response: Response) => response.headers.get("x-request-id") ?? "";
const messages = [{ role: "user" as const, content: "Hello" }];

async function chat({
  headers = {},
  body = {},
  path = "/v1/chat/completions",
  baseUrl = stack().baseUrl,
  apiKey = stack().apiKey,
}: {
  headers?: Record<string, string>;
  body?: object;
  path?: string;
  baseUrl?: string;
  apiKey?: string;
}): Promise<Response> {
  return fetch(baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${apiKey}`, ...headers },
    body: JSON.stringify({ model: "one", max_tokens: 50, messages, ...body }),
  });
}

async function labelsOf(requestId: string): Promise<Record<string, string>> {
  await stack().usageOf(requestId);
  const [request] = await readLabelsOf(stack().database, stack().accountId, [{ requestId, attempt: 1 }]);
  return Object.fromEntries((request?.labels ?? []).map(({ dimension, value }: Label) => [dimension, value]));
}

describe("with the official SDKs", () => {
  test("chat: tags by header and metadata, the end user, one backend or several, whole or streamed", async () => {
    for (const model of ["one", "several"])
      for (const stream of [false, true]) {
        const { response } = await openai({ "x-gateway-tags": "team=search, env=prod" })
          .chat.completions.create({ model, messages, stream, user: "user-17", metadata: { env: "test", run: "7" } })
          .withResponse();
        expect(received.headers["x-gateway-tags"]).toBeUndefined();
        expect(Object.keys(received.headers).filter((name) => name.startsWith("x-gateway"))).toEqual([]);
        if (response.body !== null && !response.bodyUsed) await response.text();
        expect(await labelsOf(idOf(response))).toEqual({
          "tag:team": "search",
          "tag:env": "prod",
          "tag:run": "7",
          end_user: "user-17",
        });
        // The body is forwarded unchanged.
        expect(JSON.parse(received.body)).toMatchObject({ user: "user-17", metadata: { env: "test", run: "7" } });
      }
  });

  test("messages: metadata.user_id is the end user, and tags come by header", async () => {
    const { response } = await anthropic({ "x-gateway-tags": "team=Wärme".replace("ä", "\u00C3\u00A4") })
      .messages.create({ model: "one", max_tokens: 50, messages, metadata: { user_id: "user-18" } })
      .withResponse();
    expect(await labelsOf(idOf(response))).toEqual({ "tag:team": "Wärme", end_user: "user-18" });
  });

  test("Responses: metadata is repeated in the answer as before", async () => {
    const { data, response } = await openai()
      .responses.create({ model: "one", input: "Hello", safety_identifier: "user-19", metadata: { team: "ads" } })
      .withResponse();
    expect(data.metadata).toEqual({ team: "ads" });
    expect(await labelsOf(idOf(response))).toEqual({ "tag:team": "ads", end_user: "user-19" });
  });

  test("embeddings: user", async () => {
    const { response } = await openai({ "x-gateway-tags": "team=index" })
      .embeddings.create({ model: "vectors", input: "Hello", user: "user-20" })
      .withResponse();
    expect(await labelsOf(idOf(response))).toEqual({ "tag:team": "index", end_user: "user-20" });
  });
});

test("other reserved headers are still removed, whatever they begin with (S40)", async () => {
  const names = [
    "x-gateway-backend",
    "x-gateway-tag",
    "x-gateway-tags2",
    "x-gateway-t",
    "x-gateway-",
    "X-Gateway-Timed",
    "x-gateway-ta-gs",
  ];
  const response = await chat({
    headers: { ...Object.fromEntries(names.map((name) => [name, "evil"])), "X-Gateway-Tags": "a=b" },
  });
  expect(response.status).toBe(200);
  expect(Object.keys(received.headers).filter((name) => name.startsWith("x-gateway"))).toEqual([]);
  expect(await labelsOf(idOf(response))).toEqual({ "tag:a": "b" });
});

test("what cannot be kept is refused in the caller's protocol, before a model server is asked (S21)", async () => {
  const asked = received;
  const chatError = await chat({ body: { metadata: { note: "x".repeat(300) } } });
  expect(chatError.status).toBe(400);
  expect(chatError.headers.get("x-should-retry")).toBe("false");
  expect(await chatError.json()).toMatchObject({ error: { type: "invalid_request_error", param: "metadata.note" } });
  const messagesError = await chat({ path: "/v1/messages", headers: { "x-gateway-tags": "key=sk-ant-aaaaaaaaaaaaaaaaaaaaaa" } });
  expect(messagesError.status).toBe(400);
  expect(await messagesError.json()).toMatchObject({
    type: "error",
    error: { type: "invalid_request_error", message: expect.stringMatching(/`x-gateway-tags`.*looks like a credential/) },
  });
  expect(received).toBe(asked);
});

test("an account that has them off is neither refused nor recorded", async () => {
  const other = await stack().createAccount({ name: "labels-off", creditNanoUsd: 1_000_000_000n });
  const headers = { "x-gateway-tags": "no equals sign" };
  const response = await chat({ apiKey: other.apiKey, headers, body: { metadata: { note: "x".repeat(300) }, user: "user-21" } });
  expect(response.status).toBe(200);
  expect(await labelsOf(idOf(response))).toEqual({});
});

test("GET /v1/usage of a key is filtered and grouped by tag and end user, in pages (S29, S47)", async () => {
  const ids: string[] = [];
  for (const name of ["a", "a", "b", "c"])
    ids.push(idOf(await chat({ headers: { "x-gateway-tags": `report=${name}` }, body: { user: `report-${name}` } })));
  for (const id of ids) await stack().usageOf(id);
  const groups = await usage("group_by=tag:report&limit=2");
  expect(groups).toMatchObject({
    group_by: "tag:report",
    data: [
      {
        value: "a",
        is_other: false,
        requests: 2,
        tokens: { input: 10, output: 4 },
        amount: expect.stringMatching(/^\d+\.\d{9}$/),
      },
      { value: "b", requests: 1 },
    ],
  });
  const { next_cursor: cursor } = z.object({ next_cursor: z.string() }).parse(groups);
  expect(await usage(`group_by=tag:report&limit=2&cursor=${cursor}`)).toMatchObject({
    data: [{ value: "c" }],
    next_cursor: null,
  });
  expect(await usage("group_by=end_user&limit=200")).toMatchObject({
    data: expect.arrayContaining([expect.objectContaining({ value: "report-b" })]),
  });
  expect(await usage("tag=report=a")).toMatchObject({ data: [{ model: "one", requests: 2 }] });
  expect(await usage("end_user=report-c")).toMatchObject({ data: [{ model: "one", requests: 1 }] });
  expect(await usage("tag=report=none")).toMatchObject({ data: [] });
  for (const [query, field] of [
    ["tag=report", "tag"],
    ["tag=a=b&end_user=c", "tag"],
    ["group_by=team", "group_by"],
    ["group_by=end_user&tag=a=b", "group_by"],
    ["group_by=end_user&limit=0", "limit"],
    ["group_by=end_user&cursor=none", "cursor"],
  ] as const)
    expect(await usage(query)).toMatchObject({ error: { param: field } });
});

test("GET /v1/usage/{id} has what one request of the key used and cost, once it is settled (S45)", async () => {
  const id = idOf(await chat({ headers: { "x-gateway-tags": "team=one" }, body: { user: "u-9" } }));
  await stack().usageOf(id);
  const get = async (path: string, apiKey = stack().apiKey) =>
    fetch(`${stack().baseUrl}/v1/usage/${path}`, { headers: { authorization: `Bearer ${apiKey}` } });
  const [row] = await stack().usageOf(id);
  expect(await (await get(id)).json()).toMatchObject({
    object: "usage.request",
    id,
    model: "one",
    interface: "chat",
    outcome: "complete",
    is_estimated: false,
    tokens: { input: 5, output: 2 },
    amount: formatNanoUsd(row?.chargeNanoUsd ?? 0n),
    tags: { team: "one" },
    end_user: "u-9",
  });
  const other = await stack().createAccount({ name: "usage-of-others", creditNanoUsd: 0n });
  for (const refused of [await get(id, other.apiKey), await get("none"), await get("0199d8a0-0000-7000-8000-000000000001")]) {
    expect(refused.status).toBe(404);
    expect(await refused.json()).toMatchObject({ error: { code: "not_found" } });
  }
});

async function usage(query: string): Promise<unknown> {
  const response = await fetch(`${stack().baseUrl}/v1/usage?${query}`, {
    headers: { authorization: `Bearer ${stack().apiKey}` },
  });
  return response.json();
}

describe("a process that dies", () => {
  let plane: DataPlane;
  beforeAll(async () => {
    plane = await startDataPlane(stack());
    await plane.startExtproc({ SETTLE_EVERY_MS: "10000" });
  });
  afterAll(() => plane.stop());

  test("leaves the tags of answered and of running requests in its journal, and the next one books them (S39, S47)", async () => {
    const answered = await eventually(async () => {
      const response = await chat({
        baseUrl: plane.baseUrl,
        headers: { "x-gateway-tags": "when=answered" },
        body: { user: "u-1" },
      });
      expect(response.status).toBe(200);
      return response;
    });
    const running = await chat({
      baseUrl: plane.baseUrl,
      headers: { "x-gateway-tags": "when=running" },
      body: { stream: true, messages: [{ role: "user", content: "This never ends." }] },
    });
    await running.body?.getReader().read();
    await plane.endExtproc("SIGKILL");
    await plane.startExtproc({ SETTLE_EVERY_MS: "20" });
    await eventually(async () => expect(await labelsOf(idOf(answered))).toEqual({ "tag:when": "answered", end_user: "u-1" }));
    await eventually(async () => expect(await labelsOf(idOf(running))).toEqual({ "tag:when": "running" }));
    expect(await stack().usageOf(idOf(running))).toMatchObject([{ outcome: "lost" }]);
  });
});
