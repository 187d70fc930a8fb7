import { readdir, readFile } from "node:fs/promises";
import type { ServerResponse } from "node:http";
import path from "node:path";
import { expect, test } from "vitest";
import * as z from "zod";
import { makeCompletion, makeCompletionStream } from "../../support/servers/completions.ts";
import { postForm } from "../../support/dashboard/form-requests.ts";
import { SHORT_CHECK } from "../../support/servers/checked-models.ts";
import type { FormPart } from "../../support/dashboard/forms.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { eventually } from "../../support/eventually.ts";
import { DEAR, useScriptedModels } from "../../support/servers/scripted-models.ts";

/** A hook checks the text of each request before a model server gets it (S55, docs/decisions/0081). */
const KEY = "px-hook-Zk3v9QmT7wLr2YbN";
const checkSchema = z.strictObject({ model: z.string().optional(), input: z.array(z.string()) });

interface Asked {
  texts: string[];
  model: string | undefined;
  authorization: string | undefined;
  names: string[];
}

/** What hook and model server were asked, by the marker in the text: tests may run side by side. */
const checks = new Map<string, Asked>();
const served = new Set<string>();
let leftBehind = 0;
/** Gives the verdict that the hook holds. */
let release: () => void = () => {};

const markerIn = (text: string) => /marker-\d+/.exec(text)?.[0] ?? "";

function judge(response: ServerResponse, texts: readonly string[]): void {
  const all = texts.join("\n");
  const reply = (status: number, body: string) => response.writeHead(status, { "content-type": "application/json" }).end(body);
  if (all.includes("do-stall")) return void response.on("close", () => (leftBehind += 1));
  if (all.includes("do-fail")) return void reply(500, "{}");
  if (all.includes("do-lie")) return void reply(200, '{"results":[]}');
  if (all.includes("do-break"))
    return void response.writeHead(200, { "content-length": "100" }).write("{", () => response.destroy());
  const results = texts.map((text) => ({
    flagged: text.includes("forbidden"),
    categories: { violence: text.includes("forbidden"), hate: false },
  }));
  const answer = () => reply(200, JSON.stringify({ id: "modr-1", model: "m", results }));
  if (all.includes("do-hold")) release = answer;
  else answer();
}

const stack = useScriptedModels(
  (request, response, body) => {
    if (request.url === "/v1/moderations") {
      const { input, model } = checkSchema.parse(JSON.parse(body));
      const { authorization } = request.headers;
      checks.set(markerIn(body), { texts: input, model, authorization, names: Object.keys(request.headers) });
      return judge(response, input);
    }
    served.add(markerIn(body));
    if (request.url?.endsWith("/embeddings") === true) {
      const data = [{ object: "embedding", index: 0, embedding: [0.5] }];
      const usage = { prompt_tokens: 2, total_tokens: 2 };
      return void response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify({ object: "list", data, model: "m", usage }));
    }
    const isStream = body.includes('"stream":true');
    response.writeHead(200, { "content-type": isStream ? "text/event-stream" : "application/json" });
    response.end(isStream ? makeCompletionStream() : makeCompletion());
  },
  (url) => {
    const backend = { name: "only", protocol: "chat", url, credential: KEY } as const;
    const guardrail = { url: `${url}/v1/moderations`, model: "omni", credentialRef: { name: "guarded-only" }, timeout: "5s" };
    const hook = { url: guardrail.url };
    return [
      { name: "guarded", backends: [backend], pricing: DEAR, guardrail },
      { name: "hurried", backends: [backend], pricing: DEAR, guardrail: { ...hook, timeout: SHORT_CHECK } },
      { name: "open", backends: [backend], pricing: DEAR, guardrail: { ...hook, timeout: SHORT_CHECK, onFailure: "Allow" } },
      { name: "unguarded", backends: [backend], pricing: DEAR },
      { name: "embeds", backends: [backend], interfaces: ["Embeddings"], pricing: { inputPerMillion: "100.00" }, guardrail },
      { name: "draws", backends: [backend], interfaces: ["ImageGeneration"], pricing: { perImage: "1.00" }, guardrail },
      { name: "speaks", backends: [backend], interfaces: ["Speech"], pricing: { charactersPerMillion: "100.00" }, guardrail },
    ];
  },
);

let markers = 0;
const newMarker = () => `marker-${(markers += 1)}`;

const INTERFACES = [
  { path: "/v1/chat/completions", model: "guarded", toBody: (text: string) => ({ messages: [{ role: "user", content: text }] }) },
  {
    path: "/v1/messages",
    model: "guarded",
    toBody: (text: string) => ({ max_tokens: 16, messages: [{ role: "user", content: [{ type: "text", text }] }] }),
  },
  { path: "/v1/responses", model: "guarded", toBody: (text: string) => ({ input: text }) },
  { path: "/v1/embeddings", model: "embeds", toBody: (text: string) => ({ input: [text] }) },
  { path: "/v1/images/generations", model: "draws", toBody: (text: string) => ({ prompt: text }) },
  { path: "/v1/audio/speech", model: "speaks", toBody: (text: string) => ({ input: text, voice: "alloy" }) },
];

function send(path: string, body: object, signal?: AbortSignal): Promise<Response> {
  return fetch(stack().baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack().apiKey}` },
    body: JSON.stringify(body),
    signal,
  });
}

const chat = (model: string, content: string, more: object = {}, signal?: AbortSignal) =>
  send("/v1/chat/completions", { model, messages: [{ role: "user", content }], ...more }, signal);

const CASES = INTERFACES.flatMap((each) => [
  { ...each, more: {} },
  ...(each.model === "guarded" ? [{ ...each, more: { stream: true } }] : []),
]);
const WORDS = "this model's content check (violence)";

test.for(CASES)(
  "a refused text reaches no model server and costs nothing: $path $more",
  async ({ path, model, toBody, more }) => {
    const marker = newMarker();
    await stack().idle();
    const before = await stack().balanceNanoUsd();
    const response = await send(path, { model, ...toBody(`${marker} forbidden`), ...more });
    expect(response.status).toBe(400);
    expect(response.headers.get("x-should-retry")).toBe("false");
    const isMessages = path === "/v1/messages";
    const stable = isMessages ? { details: { code: "content_policy_violation" } } : { code: "content_policy_violation" };
    expect(await response.json()).toMatchObject({
      error: { type: "invalid_request_error", message: expect.stringContaining(WORDS), ...stable },
    });
    expect(checks.get(marker)?.texts.join()).toContain(marker);
    expect(served.has(marker)).toBe(false);
    await stack().idle();
    expect(await stack().balanceNanoUsd()).toBe(before);
    expect(await stack().entriesOf(response.headers.get("x-request-id") ?? "")).toEqual([]);
  },
);

test("a refused prompt of a form reaches no model server, and its picture is not checked", async () => {
  const marker = newMarker();
  const form: FormPart[] = [
    ["model", "draws"],
    ["image", { filename: "a.png", bytes: Buffer.from("forbidden") }],
  ];
  const path = "/v1/images/edits";
  const refused = await postForm(stack(), [...form, ["prompt", `${marker} forbidden`]], { path });
  expect(refused.status).toBe(400);
  expect(JSON.parse(refused.text).error).toMatchObject({ param: "prompt", code: "content_policy_violation" });
  expect(checks.get(marker)?.texts).toEqual([`${marker} forbidden`]);
  expect(served.has(marker)).toBe(false);
  const other = newMarker();
  await postForm(stack(), [...form, ["prompt", `${other} fine`]], { path });
  expect(served.has(other)).toBe(true);
});

const SERVED = CASES.filter(({ model }) => model === "guarded" || model === "embeds");
test.for(SERVED)("an allowed text is answered: $path $more", async ({ path, model, toBody, more }) => {
  const marker = newMarker();
  const response = await send(path, { model, ...toBody(`${marker} fine`), ...more });
  expect(response.status).toBe(200);
  await response.text();
  expect(checks.get(marker)).toMatchObject({ model: "omni", authorization: `Bearer ${KEY}` });
  expect(served.has(marker)).toBe(true);
});

test("the hook gets the text, and no key, address or id of the client", async () => {
  const marker = newMarker();
  await (await chat("guarded", marker)).text();
  expect(checks.get(marker)?.texts).toEqual([marker]);
  expect(checks.get(marker)?.names.toSorted()).toEqual(["accept", "authorization", "content-length", "content-type", "host"]);
});

test.for<(text: string) => object>([
  (text) => ({ role: "user", content: `data:image/png;base64,${text}` }),
  (text) => ({ role: text, content: "Hello." }),
  (text) => ({ role: "assistant", tool_calls: [{ id: text, type: "function", function: { name: "a", arguments: "{}" } }] }),
])("what only looks like a picture or an id is checked: %s", async (toMessage) => {
  const marker = newMarker();
  const response = await send("/v1/chat/completions", { model: "guarded", messages: [toMessage(`${marker}_forbidden`)] });
  expect(await response.json()).toMatchObject({ error: { code: "content_policy_violation" } });
  expect(served.has(marker)).toBe(false);
});

const base64 = (text: string) => Buffer.from(text).toString("base64");
/** As long as bytes of a picture or a file are. */
const long = (text: string) => text.padEnd(200, "_");
const filed = (type: string, text: string) => ({
  input: [{ role: "user", content: [{ type: "input_file", filename: "a", file_data: `data:${type},${text}` }] }],
});

test.for<readonly [string, string, (text: string) => object]>([
  ["a file of JSON", "/v1/responses", (text) => filed("application/json;base64", base64(text))],
  ["a file whose type has parameters", "/v1/responses", (text) => filed("application/xml;base64;charset=utf-8", base64(text))],
  ["a file that is not base64", "/v1/responses", (text) => filed("application/sql", text.replace("for", "%66or"))],
  [
    "a document like a data URL",
    "/v1/messages",
    (text) => {
      const source = { type: "text", media_type: "text/plain", data: `data:text/plain;base64,${text}` };
      return { max_tokens: 16, messages: [{ role: "user", content: [{ type: "document", source }] }] };
    },
  ],
  [
    "the original of a tool call's id",
    "/v1/messages",
    (text) => {
      const id = `toolu_gw0${Buffer.from(`${text}.`).toString("base64url")}`;
      const call = { role: "assistant", content: [{ type: "tool_use", id, name: "look_up", input: {} }] };
      const result = { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: "Found." }] };
      return { max_tokens: 16, messages: [{ role: "user", content: "Look it up." }, call, result] };
    },
  ],
])("what a server gets in another form is checked in that form: %s", async ([, path, toBody]) => {
  const marker = newMarker();
  const response = await send(path, { model: "guarded", ...toBody(`${marker}_forbidden`) });
  expect(response.status).toBe(400);
  expect(served.has(marker)).toBe(false);
});

test.for<readonly [string, (text: string) => object]>([
  ["/v1/responses", (text) => ({ input: [{ type: "shell_call_output", call_id: "c", output: { file_data: long(text) } }] })],
  ["/v1/responses", (text) => ({ input: [{ type: "shell_call_output", call_id: "c", output: [{ image_url: long(text) }] }] })],
  [
    "/v1/messages",
    (text) => {
      const result = {
        type: "web_fetch_tool_result",
        tool_use_id: "t",
        content: { source: { type: "base64", data: long(text) } },
      };
      return { max_tokens: 16, messages: [{ role: "user", content: [result] }] };
    },
  ],
])("what is not checked is not sent as a text either: %s %s", async ([path, toBody]) => {
  const marker = newMarker();
  const response = await send(path, { model: "guarded", ...toBody(`${marker}_forbidden`) });
  expect(response.status).toBe(200);
  await response.text();
  expect(checks.has(marker)).toBe(false);
  expect(served.has(marker)).toBe(false);
});

test("a Model without a guardrail asks no hook", async () => {
  const marker = newMarker();
  const response = await chat("unguarded", `${marker} forbidden`);
  expect(response.status).toBe(200);
  expect(checks.has(marker)).toBe(false);
});

test.for(["do-stall", "do-fail", "do-lie", "do-break"])("without a verdict, a request is refused: %s", async (behaviour) => {
  const marker = newMarker();
  const response = await chat("hurried", `${marker} ${behaviour}`);
  expect(response.status).toBe(503);
  expect(response.headers.get("retry-after")).toBe("2");
  expect(await response.json()).toMatchObject({ error: { type: "server_error", code: "guardrail_unavailable" } });
  expect(served.has(marker)).toBe(false);
});

test.for(["do-stall", "do-fail", "do-lie", "do-break"])("or passes, if its Model says so: %s", async (behaviour) => {
  const marker = newMarker();
  const response = await chat("open", `${marker} ${behaviour}`);
  expect(response.status).toBe(200);
  expect(served.has(marker)).toBe(true);
  expect((await chat("open", `${newMarker()} forbidden`)).status).toBe(400);
});

test("a request holds its credit while it is checked, and a client that leaves ends the check", async () => {
  const marker = newMarker();
  const before = leftBehind;
  const leaving = new AbortController();
  const gone = chat("guarded", `${marker} do-stall`, {}, leaving.signal).catch(() => "gone");
  await eventually(() => expect(checks.has(marker)).toBe(true));
  expect(await metric("gateway_open_holds")).toBeGreaterThan(0);
  leaving.abort();
  // The check's own time ends it later.
  await eventually(() => expect(leftBehind).toBe(before + 1), { withinMs: 4_500 });
  expect(await gone).toBe("gone");
  await stack().idle();
  expect(served.has(marker)).toBe(false);
});

test("a request whose key is deleted while it is checked is refused and costs nothing (S25)", async () => {
  const { apiKey, accountId } = await stack().createAccount({ name: "leaving", creditNanoUsd: 1_000_000_000n });
  const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
  const marker = newMarker();
  const body = JSON.stringify({ model: "guarded", messages: [{ role: "user", content: `${marker} do-hold` }] });
  const answer = fetch(`${stack().baseUrl}/v1/chat/completions`, { method: "POST", headers, body });
  await eventually(() => expect(checks.has(marker)).toBe(true));
  await stack().database.execute("UPDATE api_key SET revoked_at = now() WHERE account_id = $1", [accountId]);
  await eventually(async () => expect((await fetch(`${stack().baseUrl}/v1/models`, { headers })).status).toBe(401));
  release();
  expect((await answer).status).toBe(401);
  expect(served.has(marker)).toBe(false);
  expect(await stack().balanceNanoUsd(accountId)).toBe(1_000_000_000n);
  expect(await metric("gateway_open_holds")).toBe(0);
});

test("checks and refusals are counted, and no text is logged", async () => {
  const page = await (await fetch(`${stack().extprocAdminUrl}/metrics`)).text();
  for (const result of ["allowed", "refused"])
    expect(page).toMatch(
      new RegExp(`^gateway_guardrail_checks_total\\{.*model="guarded",part="request",result="${result}".*\\} [1-9]`, "m"),
    );
  expect(page).toMatch(/^gateway_guardrail_checks_total\{.*model="open",part="request",result="failed_allowed".*\} [1-9]/m);
  expect(page).toMatch(/^gateway_refusals_total\{.*code="content_refused".*\} [1-9]/m);
  const names = await readdir(stack().directory.logs);
  const logs = await Promise.all(names.map((name) => readFile(path.join(stack().directory.logs, name), "utf8")));
  expect(logs.join()).toContain("no verdict of the guardrail");
  expect(logs.join()).not.toContain("marker-");
});

async function metric(name: string): Promise<number> {
  return (await scrape(stack().extprocAdminUrl)).get(name) ?? 0;
}
