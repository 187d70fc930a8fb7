import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";
import type { ServerResponse } from "node:http";
import { expect, test } from "vitest";
import * as z from "zod";
import type { Protocol } from "../../../contract/protocol.ts";
import { chargeNanoUsd } from "../../../ledger/money.ts";
import { NO_USAGE } from "../../../contract/usage.ts";
import { eventually } from "../../support/eventually.ts";
import { DEAR, useScriptedModels } from "../../support/servers/scripted-models.ts";
import { flood, say, USAGE, type Words } from "../../support/servers/worded-models.ts";

/** A hook checks the text of each answer before a client gets it (S55, docs/decisions/0081). */
const checkSchema = z.object({ input: z.array(z.string()) });

/** What model servers say, and what hooks were asked, by the marker in the prompt: tests may run side by side. */
const scripts = new Map<string, Words>();
const checks = new Map<string, string[][]>();
let leftBehind = 0;
/** Once: the next window begins with the end of the one before. */
let hasLingered = false;
let onLingered: () => void = () => {};
let markers = 0;

const markerIn = (text: string) => /marker-\d+/.exec(text)?.[0] ?? "";

/** @returns the prompt for it: the answer begins with its marker. */
function script(words: Words): string {
  const marker = `marker-${(markers += 1)};`;
  scripts.set(markerIn(marker), { ...words, pieces: [marker, ...words.pieces] });
  return marker;
}

const texts = (prompt: string) => (checks.get(markerIn(prompt)) ?? []).flat();

function judge(response: ServerResponse, input: readonly string[]): void {
  const all = input.join("\n");
  const reply = (status: number, body: string) => response.writeHead(status, { "content-type": "application/json" }).end(body);
  if (all.includes("do-stall")) return void response.on("close", () => (leftBehind += 1));
  if (all.includes("do-fail")) return void reply(500, "{}");
  if (all.includes("do-flood")) return flood(response);
  const results = input.map((text) => ({
    flagged: text.includes("forbidden"),
    categories: { violence: text.includes("forbidden"), hate: false },
  }));
  const isLingering = all.includes("do-linger") && !hasLingered;
  hasLingered ||= isLingering;
  const lateMs = isLingering ? 2_000 : all.includes("do-wait") ? 2_500 : 0;
  setTimeout(() => {
    if (isLingering) onLingered();
    reply(200, JSON.stringify({ results }));
  }, lateMs);
}

const stack = useScriptedModels(
  async (request, response, body) => {
    if (request.url === "/v1/moderations") {
      const { input } = checkSchema.parse(JSON.parse(body));
      // Windows of one answer have the end of the one before.
      const marker = markerIn(body) || latest;
      checks.set(marker, [...(checks.get(marker) ?? []), input]);
      return judge(response, input);
    }
    latest = markerIn(body);
    const words = scripts.get(latest);
    if (words === undefined) return void response.writeHead(400).end("{}");
    await say(request, response, body, words);
  },
  (url) => {
    const hook = { url: `${url}/v1/moderations`, check: ["Answers"] };
    const backend = (protocol: Protocol) => ({ name: "only", protocol, url }) as const;
    const interfaces = ["ChatCompletions", "Messages", "Responses"];
    const guarded = (name: string, guardrail: object, protocol: Protocol = "chat", more: object = {}) => ({
      name,
      backends: [backend(protocol)],
      interfaces,
      pricing: DEAR,
      guardrail: { ...hook, ...guardrail },
      ...more,
    });
    const narrow = { streamWindow: { characters: 100, time: "30s" } };
    return [
      ...(["chat", "messages", "responses"] as const).map((protocol) => guarded(`by-${protocol}`, narrow, protocol)),
      guarded("hurried", { ...narrow, timeout: "500ms" }),
      guarded("open", { ...narrow, timeout: "500ms", onFailure: "Allow" }),
      guarded("patient", { timeout: "5s" }, "chat", { streaming: { keepAlive: "1s" } }),
      guarded("long", { timeout: "5s" }, "chat", { maxOutputTokens: 20_000_000, contextWindow: 40_000_000, pricing: CHEAP }),
      guarded("early", narrow, "chat", { streaming: { keepAlive: "1s", answerAfter: "1s" } }),
      guarded("both", { check: ["Requests", "Answers"] }),
      guarded("stores", {}, "chat", { responses: { storeHours: 1 } }),
      { name: "unguarded", backends: [backend("chat")], interfaces, pricing: DEAR },
    ];
  },
);

const CHEAP = { inputPerMillion: "0.01", outputPerMillion: "0.01" };

/** Of the prompt that was answered last: a window may have no marker. */
let latest = "";

const openai = () => new OpenAI({ apiKey: stack().apiKey, baseURL: `${stack().baseUrl}/v1`, maxRetries: 0 });
const anthropic = () => new Anthropic({ apiKey: stack().apiKey, baseURL: stack().baseUrl, maxRetries: 0 });

interface Read {
  text: string;
  /** Of the protocol. */
  stop: unknown;
  requestId: string;
}

/** The official SDKs' own way to read an answer or a stream. */
const READERS = {
  async chat(model: string, prompt: string, isStream: boolean): Promise<Read> {
    const body = { model, messages: [{ role: "user" as const, content: prompt }] };
    if (!isStream) {
      const { data, response } = await openai().chat.completions.create(body).withResponse();
      const [choice] = data.choices;
      return { text: JSON.stringify(choice?.message), stop: choice?.finish_reason, requestId: idOf(response) };
    }
    const { data, response } = await openai()
      .chat.completions.create({ ...body, stream: true })
      .withResponse();
    let text = "";
    let stop: unknown;
    for await (const { choices } of data) {
      text += choices.map(({ delta }) => textOf(delta)).join("");
      stop = choices[0]?.finish_reason ?? stop;
    }
    return { text, stop, requestId: idOf(response) };
  },
  async messages(model: string, prompt: string, isStream: boolean): Promise<Read> {
    const body = { model, max_tokens: 4_096, messages: [{ role: "user" as const, content: prompt }] };
    if (!isStream) {
      const { data, response } = await anthropic().messages.create(body).withResponse();
      return { text: JSON.stringify(data.content), stop: data.stop_reason, requestId: idOf(response) };
    }
    const stream = anthropic().messages.stream(body);
    const { response } = await stream.withResponse();
    const message = await stream.finalMessage();
    const text = message.content.map((block) => (block.type === "text" ? block.text : JSON.stringify(block))).join("");
    return { text, stop: message.stop_reason, requestId: idOf(response) };
  },
  async responses(model: string, prompt: string, isStream: boolean): Promise<Read> {
    const body = { model, input: prompt };
    if (!isStream) {
      const { data, response } = await openai().responses.create(body).withResponse();
      return {
        text: JSON.stringify(data.output),
        stop: data.incomplete_details?.reason ?? data.status,
        requestId: idOf(response),
      };
    }
    const { data, response } = await openai()
      .responses.create({ ...body, stream: true })
      .withResponse();
    let text = "";
    let stop: unknown;
    for await (const event of data) {
      if ("delta" in event && typeof event.delta === "string") text += event.delta;
      if (event.type === "response.completed" || event.type === "response.incomplete")
        stop = event.response.incomplete_details?.reason ?? event.response.status;
    }
    return { text, stop, requestId: idOf(response) };
  },
} as const satisfies Record<Protocol, (model: string, prompt: string, isStream: boolean) => Promise<Read>>;

const idOf = (response: Response) => response.headers.get("x-request-id") ?? "";

function textOf(delta: object): string {
  const { content, reasoning_content: reasoning, tool_calls: calls } = deltaSchema.parse(delta);
  return `${content ?? ""}${reasoning ?? ""}${(calls ?? []).map((call) => call.function.arguments ?? "").join("")}`;
}

const deltaSchema = z.object({
  content: z.string().nullish(),
  reasoning_content: z.string().nullish(),
  tool_calls: z.array(z.object({ function: z.object({ arguments: z.string().optional() }) })).optional(),
});

const CLIENTS = ["chat", "messages", "responses"] as const;
const PAIRS = CLIENTS.flatMap((client) => CLIENTS.map((upstream) => ({ client, upstream })));
const COMPLETE = { chat: "stop", messages: "end_turn", responses: "completed" } as const;
const REFUSED = { chat: "content_filter", messages: "refusal", responses: "content_filter" } as const;

const words = (length: number) => Array.from({ length }, (_, at) => `word${at} `);
const charge = (outputTokens: number) => chargeNanoUsd({ ...NO_USAGE, inputTokens: USAGE.input, outputTokens }, PRICE);
const PRICE = {
  id: 0n,
  inputPicoUsd: 100_000_000n,
  cachedInputPicoUsd: 0n,
  cacheWritePicoUsd: 0n,
  outputPicoUsd: 100_000_000n,
  unitPicoUsd: 0n,
};

async function rowOf(requestId: string) {
  const [row, ...others] = await stack().usageOf(requestId);
  expect(others).toEqual([]);
  if (row === undefined) throw new Error(`request ${requestId} has no row`);
  return row;
}

test.for(PAIRS)("an allowed answer arrives as it is, streamed or not: $client via $upstream", async ({ client, upstream }) => {
  for (const isStream of [false, true]) {
    const pieces = words(60);
    const prompt = script({ pieces, afterMs: isStream ? 3 : 0 });
    const read = await READERS[client](`by-${upstream}`, prompt, isStream);
    expect(read.text).toContain(prompt + pieces.join(""));
    expect(read.stop).toBe(COMPLETE[client]);
    const seen = texts(prompt);
    expect(seen.join("")).toContain("word59");
    // Windows of 100 characters, the first of which are shorter; a text that is repeated is asked about once.
    expect(checks.get(markerIn(prompt))?.length).toBeGreaterThanOrEqual(isStream ? 4 : 1);
    expect(seen.filter((text) => text.length > 400)).toHaveLength(isStream ? 0 : 1);
    const row = await rowOf(read.requestId);
    expect(row).toMatchObject({ outcome: "complete", httpStatus: 200, chargeNanoUsd: charge(USAGE.output) });
  }
});

const WORDS = "this model's content check (violence)";

test.for(PAIRS)(
  "a refused answer does not reach the client and is charged once: $client via $upstream",
  async ({ client, upstream }) => {
    const prompt = script({ pieces: [...words(20), "forbidden"] });
    const response = await send(client, `by-${upstream}`, prompt);
    expect(response.status).toBe(400);
    expect(response.headers.get("x-should-retry")).toBe("false");
    const body = await response.text();
    const stable =
      client === "messages" ? { details: { code: "content_policy_violation" } } : { code: "content_policy_violation" };
    expect(JSON.parse(body)).toMatchObject({
      error: { type: "invalid_request_error", message: expect.stringContaining(WORDS), ...stable },
    });
    expect(body).not.toMatch(/word1|forbidden/);
    expect(body).toContain("costs 0.004500000 USD");
    expect(response.headers.get("x-gateway-cost")).toBe("0.004500000");
    expect(await rowOf(idOf(response))).toMatchObject({
      outcome: "complete",
      httpStatus: 400,
      chargeNanoUsd: charge(USAGE.output),
    });
    expect(await stack().entriesOf(idOf(response))).toEqual([-charge(USAGE.output)]);
  },
);

test.for(PAIRS)("a refused stream ends as its protocol ends one: $client via $upstream", async ({ client, upstream }) => {
  // The phrase begins in one window and ends in another.
  const pieces = [...words(40), "for", ..."bidden".split(""), ...words(60)];
  const prompt = script({ pieces, afterMs: 4 });
  const read = await READERS[client](`by-${upstream}`, prompt, true);
  expect(read.stop).toBe(REFUSED[client]);
  expect(read.text).toContain("word5 ");
  expect(read.text).not.toContain("forbidden");
  expect((prompt + pieces.join("")).startsWith(read.text)).toBe(true);
  const row = await rowOf(read.requestId);
  expect(row).toMatchObject({ outcome: "complete", httpStatus: 400 });
  // What was produced until then, and no more: the text that follows was not asked for.
  expect(row.usage.outputTokens).toBeGreaterThanOrEqual(Math.ceil(read.text.length / 4));
  expect(row.usage.outputTokens).toBeLessThanOrEqual(Math.ceil((prompt + pieces.join("")).length / 4));
  expect(await stack().entriesOf(read.requestId)).toEqual([-row.chargeNanoUsd]);
});

const KINDS = CLIENTS.flatMap((client) => (["reasoning", "arguments"] as const).map((kind) => ({ client, kind })));

test.for(KINDS)("$kind is text: $client", async ({ client, kind }) => {
  const model = `by-${client}`;
  for (const isStream of [false, true]) {
    const fine = script({ pieces: words(40), kind });
    const read = await READERS[client](model, fine, isStream);
    expect(read.text).toContain("word39");
    expect(texts(fine).join("")).toContain("word39");
  }
  const pieces = [...words(40), "forbid", "den", ...words(40)];
  expect((await send(client, model, script({ pieces, kind }))).status).toBe(400);
  const withheld = await READERS[client](model, script({ pieces, kind }), true);
  expect(withheld.stop).toBe(REFUSED[client]);
  expect(withheld.text).not.toContain("forbidden");
});

test.for(CLIENTS)("without a verdict, an answer is refused and free, and a stream ends with an error: %s", async (client) => {
  for (const fault of ["do-stall", "do-fail", "do-flood"]) {
    const response = await send(client, "hurried", script({ pieces: [fault] }));
    expect(response.status).toBe(503);
    expect(response.headers.get("retry-after")).toBe("2");
    expect(await response.text()).toMatch(client === "messages" ? "api_error" : "guardrail_unavailable");
    expect(await rowOf(idOf(response))).toMatchObject({ outcome: "failed", httpStatus: 503, chargeNanoUsd: 0n });

    const streamed = await send(client, "hurried", script({ pieces: [...words(30), fault, ...words(60)], afterMs: 2 }), true);
    const body = await streamed.text();
    expect(body).toContain("word1 ");
    expect(body).not.toContain(fault);
    expect(body).not.toContain("word59");
    expect(body).toContain("The content check for this model's answers");
    const row = await rowOf(idOf(streamed));
    expect(row).toMatchObject({ outcome: "failed" });
    // What was delivered is charged.
    expect(row.chargeNanoUsd).toBeGreaterThan(0n);
  }
});

test.for(CLIENTS)("or passes, if its Model says so: %s", async (client) => {
  for (const isStream of [false, true]) {
    const read = await READERS[client]("open", script({ pieces: [...words(30), "do-stall", ...words(30)] }), isStream);
    expect(read.text).toContain("word29");
    expect(read.text).toContain("do-stall");
    expect(read.stop).toBe(COMPLETE[client]);
  }
});

test.for(PAIRS)(
  "a document in place of a stream is checked before the stream begins: $client via $upstream",
  async ({ client, upstream }) => {
    const fine = await READERS[client](`by-${upstream}`, script({ pieces: words(20), isWhole: true }), true);
    expect(fine.text).toContain("word19");
    expect(fine.stop).toBe(COMPLETE[client]);
    const refused = await send(client, `by-${upstream}`, script({ pieces: ["forbidden"], isWhole: true }), true);
    expect(refused.status).toBe(400);
    expect(await rowOf(idOf(refused))).toMatchObject({
      outcome: "complete",
      httpStatus: 400,
      chargeNanoUsd: charge(USAGE.output),
    });
  },
);

test("a client that leaves during the check pays for what was produced, and ends the call", async () => {
  for (const isStream of [false, true]) {
    const before = leftBehind;
    const leaving = new AbortController();
    const prompt = script({ pieces: ["do-stall", ...words(20)], afterMs: isStream ? 100 : 0 });
    const gone = send("chat", "patient", prompt, isStream, leaving.signal).then((response) => response.text());
    gone.catch(() => "gone");
    await eventually(() => expect(checks.has(markerIn(prompt))).toBe(true));
    leaving.abort();
    await expect(gone).rejects.toThrow(/abort/i);
    await eventually(() => expect(leftBehind).toBe(before + 1), { withinMs: 1_500 });
    await stack().idle();
    const [row] = await stack().database.query({
      text: `SELECT outcome, charge_nano_usd > 0 AS is_charged FROM usage_event WHERE account_id = $1 AND model = 'patient'
             ORDER BY request_id DESC LIMIT 1`,
      values: [stack().accountId],
      row: z.object({ outcome: z.string(), is_charged: z.boolean() }),
    });
    expect(row).toEqual({ outcome: "aborted", is_charged: true });
  }
});

test("a stream that the gateway answers before its server is checked as well", async () => {
  const slow = { afterMs: 1_300 };
  const fine = await READERS.chat("early", script({ pieces: ["fine"], ...slow }), true);
  expect(fine).toMatchObject({ text: expect.stringContaining("fine"), stop: "stop" });
  const refused = await READERS.chat("early", script({ pieces: ["forbidden"], ...slow }), true);
  expect(refused).toMatchObject({ text: expect.not.stringContaining("forbidden"), stop: "content_filter" });
});

test("keep-alives go on during a check, and text goes out with its window", async () => {
  const prompt = script({ pieces: ["do-wait", " and go on."] });
  const response = await send("chat", "patient", prompt, true);
  const body = await response.text();
  expect(body.split(": keep-alive").length).toBeGreaterThan(2);
  expect(body.indexOf(": keep-alive")).toBeLessThan(body.indexOf("do-wait"));
  expect(body).toContain("[DONE]");
});

test("a stream of a slow server is shown by time, its first words soon", async () => {
  const prompt = script({ pieces: words(12), afterMs: 150 });
  const startedMs = performance.now();
  const response = await send("chat", "patient", prompt, true);
  const shownMs: number[] = [];
  if (response.body === null) throw new Error("the stream has no body");
  for await (const chunk of response.body) if (Buffer.from(chunk).includes("word")) shownMs.push(performance.now() - startedMs);
  // The first window is an eighth of a second, the others up to a second.
  expect(shownMs.length).toBeGreaterThan(2);
  expect(shownMs[0]).toBeLessThan(1_200);
});

test("a complete answer with too much text to check is refused, and free", async () => {
  const whole = await send("chat", "long", script({ pieces: ["long ".repeat(1_800_000)] }));
  expect(whole.status).toBe(502);
  expect(await whole.text()).toContain("more than 8 MiB of text");
  expect(await rowOf(idOf(whole))).toMatchObject({ outcome: "failed", chargeNanoUsd: 0n });
});

test("a server that is faster than its hook waits for it, and nothing is lost", async () => {
  let sent = 0;
  let sentBeforeTheVerdict = Number.NaN;
  onLingered = () => (sentBeforeTheVerdict = sent);
  // 25 MiB, of which the buffers of sockets and of Envoy take about half.
  const pieces = ["do-linger", ...Array.from({ length: 400 }, (_, at) => `${"fast ".repeat(12_800)}${at}.`)];
  const prompt = script({ pieces, onPiece: () => void (sent += 1) });
  const answer = await (await send("chat", "long", prompt, true)).text();
  expect(sentBeforeTheVerdict).toBeLessThan(pieces.length);
  expect(answer).toMatch(/399\..*\[DONE\]/s);
});

test("a refused response is not stored, an allowed one is", async () => {
  const continued = async (prompt: string, isStream: boolean) => {
    const answered = await send("responses", "stores", prompt, isStream);
    const body = await answered.text();
    const id = /"(resp_\w+)"/.exec(body)?.[1];
    if (id === undefined) return null;
    const response = await fetch(`${stack().baseUrl}/v1/responses/${id}`, {
      headers: { authorization: `Bearer ${stack().apiKey}` },
    });
    return response.status;
  };
  expect(await continued(script({ pieces: ["fine"] }), true)).toBe(200);
  expect(await continued(script({ pieces: [...words(200), "forbidden"] }), true)).toBe(404);
  expect(await continued(script({ pieces: ["forbidden"] }), false)).toBeNull();
});

test("a Model may have both checked, and one without a guardrail asks nothing", async () => {
  const prompt = script({ pieces: ["fine"] });
  expect((await send("chat", "both", `${prompt} forbidden`)).status).toBe(400);
  await (await send("chat", "both", prompt)).text();
  expect(checks.get(markerIn(prompt))).toHaveLength(3);
  const unasked = script({ pieces: ["forbidden"] });
  expect((await send("chat", "unguarded", unasked)).status).toBe(200);
  expect(checks.has(markerIn(unasked))).toBe(false);
});

test("a server that breaks off leaves what has passed, and an error", async () => {
  for (const client of CLIENTS) {
    const prompt = script({ pieces: words(60), afterMs: 2, breaks: true });
    const response = await send(client, `by-${client}`, prompt, true);
    const body = await response.text();
    expect(body).toContain("word5 ");
    expect(body).toMatch(/upstream_error|api_error/);
    expect(await rowOf(idOf(response))).toMatchObject({ outcome: "truncated" });
  }
});

const BODIES = {
  chat: (content: string) => ({ messages: [{ role: "user", content }] }),
  messages: (content: string) => ({ max_tokens: 4_096, messages: [{ role: "user", content }] }),
  responses: (input: string) => ({ input }),
} as const satisfies Record<Protocol, (text: string) => object>;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages", responses: "/v1/responses" } as const;

function send(client: Protocol, model: string, prompt: string, stream = false, signal?: AbortSignal): Promise<Response> {
  return fetch(stack().baseUrl + PATHS[client], {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify({ model, ...BODIES[client](prompt), ...(stream ? { stream } : {}) }),
    signal,
  });
}
