import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, describe, expect, inject, test } from "vitest";
import type { Dialect } from "../../../contract/protocol.ts";
import { scanMembers } from "../../../extproc/protocol/json/scan.ts";
import { readComplaint } from "../../../local/process/complaint.ts";
import { onlyRow } from "../../support/billing/settlement.ts";
import { eventually } from "../../support/eventually.ts";
import { readJournal } from "../../support/servers/simulator-journal.ts";
import { borrowStack } from "../../support/shared-stacks/borrow.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import type { TestProduct } from "../../support/stacks/product.ts";
import { SETTLE_EVERY_MS } from "../../support/stacks/stack.ts";
import { missingFieldsOf, wrongTypesOf, type WrongBody } from "../../support/wire/wrong-types.ts";

/** Whatever a caller sends is answered: well, or with a 4xx in the caller's shape that names the field (S17, S21). */
let stack: TestProduct;
/** The whole file is sent through an extproc whose memory can be looked at. */
let plane: DataPlane;
let logFolder: string;
let bytesBefore = 0;
beforeAll(async () => {
  stack = await borrowStack({ creditNanoUsd: 100_000_000_000_000n });
  logFolder = await mkdtemp(path.join(tmpdir(), "model-gateway-bad-input-"));
  plane = await startDataPlane(
    stack,
    { SETTLE_EVERY_MS: String(SETTLE_EVERY_MS) },
    { stdout: path.join(logFolder, "extproc.log"), collectsGarbage: true },
  );
  for (const cell of CELLS) {
    await eventually(async () => expect(await send(cell, short(cell))).toMatchObject({ status: 200 }));
    for (let time = 0; time < 100; time += 1) await send(cell, short(cell));
  }
  await plane.idle();
  bytesBefore = await plane.heldBytes();
});
afterAll(async () => {
  await plane.stop();
  await stack.stop();
  await rm(logFolder, { recursive: true, force: true });
});

const MEBIBYTE = 1024 * 1024;
const PATHS = { chat: "/v1/chat/completions", messages: "/v1/messages" } as const;
const MODELS = { chat: "modelx-v4-pro", messages: "modelx-v4-flash" } as const;

interface Cell {
  client: Dialect;
  upstream: Dialect;
}
const CELLS: Cell[] = [
  { client: "chat", upstream: "chat" },
  { client: "chat", upstream: "messages" },
  { client: "messages", upstream: "chat" },
  { client: "messages", upstream: "messages" },
];

interface Answer {
  status: number;
  text: string;
  requestId: string;
  /** The error's message; empty on success. */
  message: string;
}

async function send({ client }: Cell, body: string | Buffer, headers: Record<string, string> = {}): Promise<Answer> {
  const response = await fetch(plane.baseUrl + PATHS[client], {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}`, ...headers },
    body: typeof body === "string" ? body : new Uint8Array(body),
  });
  const text = await response.text();
  return {
    status: response.status,
    text,
    requestId: response.headers.get("x-request-id") ?? "",
    message: readMessage(client, response, text),
  };
}

/** Throws where an error has not the caller's shape. */
function readMessage(client: Dialect, response: Response, text: string): string {
  expect(response.headers.get("content-type")).toMatch(/^(application\/json|text\/event-stream)/);
  if (response.status === 200) return "";
  const body: { error: { message: string } } = JSON.parse(text);
  const error = { type: expect.any(String), message: expect.any(String) };
  const shapes = {
    chat: {
      error: {
        ...error,
        param: expect.toBeOneOf([expect.any(String), null]),
        code: expect.toBeOneOf([expect.any(String), null]),
      },
    },
    messages: { type: "error", error, request_id: response.headers.get("x-request-id") },
  };
  expect(body).toEqual(shapes[client]);
  return body.error.message;
}

const SCHEMA = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const PICTURE = "iVBORw0KGgo=";

/** A request with most of what its protocol has, good for either upstream. */
const RICH = {
  chat: (model: string) => ({
    model,
    messages: [
      { role: "system", content: "Be short." },
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "image_url", image_url: { url: `data:image/png;base64,${PICTURE}` } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "get", arguments: '{"city":"Oslo"}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "4 degrees" },
      { role: "assistant", content: "Cold." },
      { role: "user", content: "And now?" },
    ],
    tools: [{ type: "function", function: { name: "get", description: "Gets", parameters: SCHEMA, strict: false } }],
    tool_choice: { type: "function", function: { name: "get" } },
    parallel_tool_calls: false,
    max_completion_tokens: 200,
    temperature: 0.5,
    top_p: 0.9,
    stop: ["END"],
    stream: false,
    n: 1,
    reasoning_effort: "none",
    response_format: { type: "text" },
    user: "someone",
    metadata: { note: "x" },
  }),
  messages: (model: string) => ({
    model,
    max_tokens: 200,
    system: [{ type: "text", text: "Be short.", cache_control: { type: "ephemeral" } }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "Look." },
          { type: "image", source: { type: "base64", media_type: "image/png", data: PICTURE } },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "get", input: { city: "Oslo" } }] },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "toolu_1", is_error: false, content: [{ type: "text", text: "4 degrees" }] },
        ],
      },
      { role: "assistant", content: "Cold." },
      { role: "user", content: "And now?" },
    ],
    tools: [{ name: "get", description: "Gets", input_schema: SCHEMA }],
    tool_choice: { type: "tool", name: "get", disable_parallel_tool_use: true },
    thinking: { type: "disabled" },
    stop_sequences: ["END"],
    temperature: 0.5,
    top_p: 0.9,
    top_k: 40,
    stream: false,
    metadata: { user_id: "someone" },
    service_tier: "auto",
  }),
} as const;

const rich = ({ client, upstream }: Cell): object => RICH[client](MODELS[upstream]);

/** A short question; `more` is JSON text of further members, with a comma at its end. */
const short = ({ upstream }: Cell, more = "", text = "Hello."): string =>
  `{${more}"model":"${MODELS[upstream]}","max_tokens":64,"messages":[{"role":"user","content":${JSON.stringify(text)}}]}`;

const nested = (depth: number): string => "[".repeat(depth) + "]".repeat(depth);

/** Good answers and refusals of the request itself; anything else is a fault of ours. */
const ANSWERED = [200, 400, 404];

describe.for(CELLS)("a $client client of a $upstream server", (cell) => {
  test("gets an answer to its rich request", async () => {
    expect(await send(cell, JSON.stringify(rich(cell)))).toMatchObject({ status: 200 });
  });

  test("is told the field with the wrong type, for every field", async () => {
    const all = [...wrongTypesOf(rich(cell)), ...missingFieldsOf(rich(cell))];
    expect(all.length).toBeGreaterThan(500);
    // By day every third: each field still has several wrong types, and unit tests try every position that is translated.
    const variants = inject("isNight") ? all : all.filter((_, index) => index % 3 === CELLS.indexOf(cell) % 3);
    const faults = await inParallel(variants, async (variant) =>
      faultOf(variant, await send(cell, JSON.stringify(variant.body))),
    );
    expect(faults.filter((fault) => fault !== null)).toEqual([]);
  });

  test.for([
    ["as an unknown field", (cell: Cell) => short(cell, `"unknown":${nested(10_000)},`)],
    ["as the messages", (cell: Cell) => short(cell).replace(/"messages":.*/, `"messages":${nested(10_000)}}`)],
    ["as a content", (cell: Cell) => short(cell).replace('"Hello."', nested(10_000))],
    ["as metadata", (cell: Cell) => short(cell, `"metadata":${nested(10_000)},`)],
    [
      "in a schema",
      (cell: Cell) =>
        JSON.stringify(rich(cell)).replace(
          '{"city":{"type":"string"}}',
          `{"city":${'{"items":'.repeat(10_000)}{}${"}".repeat(10_000)}}`,
        ),
    ],
    ["in a tool's arguments", (cell: Cell) => JSON.stringify(rich(cell)).replace(/"Oslo"|\\"Oslo\\"/, nested(10_000))],
  ] as const)("may nest 10,000 levels deep %s", async ([, build]) => {
    const answer = await send(cell, build(cell));
    expect(ANSWERED).toContain(answer.status);
  });

  test("that names two models is served and charged by one of them, and the upstream reads no other", async () => {
    const other = MODELS[cell.upstream === "chat" ? "messages" : "chat"];
    for (const name of ["model", "mod\\u0065l"]) {
      const answer = await send(cell, short(cell, `"${name}":"${other}",`));
      expect(answer.status).toBe(200);
      const row = await onlyRow(stack, answer.requestId);
      expect(row.model).toBe(MODELS[cell.upstream]);
      expect(JSON.parse(answer.text)).toHaveProperty("model", row.model);
      const entry = (await readJournal(stack.simulatorUrl)).at(-1);
      const upstreamNames = scanMembers(Buffer.from(entry?.body ?? "")).flatMap(({ name, value }) =>
        name === "model" ? [Buffer.from(entry?.body ?? "").toString("utf8", value.start, value.end)] : [],
      );
      expect([...new Set(upstreamNames)]).toEqual([JSON.stringify(row.model)]);
    }
  });

  test("that sends both `stream: true` and `stream: false` gets the same reading from gateway and upstream", async () => {
    const whole = await send(cell, short(cell).replace("{", '{"stream":true,').replace(/}$/, ',"stream":false}'));
    expect({ status: whole.status, isJson: whole.text.startsWith("{") }).toEqual({ status: 200, isJson: true });
    const streamed = await send(cell, short(cell).replace("{", '{"stream":false,').replace(/}$/, ',"stream":true}'));
    expect({ status: streamed.status, isJson: streamed.text.startsWith("{") }).toEqual({ status: 200, isJson: false });
    for (const { requestId } of [whole, streamed]) expect((await onlyRow(stack, requestId)).outcome).toBe("complete");
  });

  test("may send lone surrogates, which never arrive broken", async () => {
    for (const escape of ["\\ud800", "\\udc00", "\\udc00\\ud800"]) {
      const answer = await send(cell, short(cell).replace("Hello.", `a${escape}b [[sim echo]]`));
      expect([200, 400]).toContain(answer.status);
      expect(answer.text).not.toMatch(/\p{Surrogate}/u);
      const entry = (await readJournal(stack.simulatorUrl)).at(-1);
      expect(() => JSON.parse(entry?.body ?? "")).not.toThrow();
    }
  });

  test.for([
    ["a cut sequence", [0xc3]],
    ["an overlong form", [0xc0, 0xaf]],
    ["an encoded surrogate", [0xed, 0xa0, 0x80]],
    ["a stray byte", [0xff]],
  ] as const)("that sends %s as UTF-8 gets an error that says so", async ([, bytes]) => {
    const [head = "", tail = ""] = short(cell).split("Hello.");
    const answer = await send(cell, Buffer.concat([Buffer.from(head), Buffer.from(bytes), Buffer.from(tail)]));
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining("UTF-8") });
  });

  test("may use names of prototype members", async () => {
    const names = ["__proto__", "constructor", "toString", "hasOwnProperty", "valueOf"];
    for (const name of names) {
      const value = `{"polluted":true,"model":"gpt-4o","stream":true}`;
      const inside = JSON.stringify(rich(cell)).replaceAll('"city"', `"${name}"`);
      const asTool = JSON.stringify(rich(cell)).replaceAll('"get"', `"${name}"`);
      for (const body of [short(cell, `"${name}":${value},`), short(cell, `"metadata":{"${name}":${value}},`), inside, asTool]) {
        const answer = await send(cell, body);
        expect([200, 400], `answered ${answer.message}`).toContain(answer.status);
      }
      expect(await send(cell, asTool)).toMatchObject({ status: 200, text: expect.stringContaining(`"name":"${name}"`) });
      const result = await send(cell, short(cell));
      expect(result).toMatchObject({ status: 200, text: expect.not.stringContaining("polluted") });
    }
  });

  test.for(["1e400", "-1e400", "1e308", "99999999999999999999", "9007199254740993", "-0", "0.1e-400"])(
    "that sends the number %s anywhere gets an answer or the field's name",
    async (number) => {
      const fields =
        cell.client === "chat"
          ? ["max_completion_tokens", "temperature", "top_p", "n", "seed"]
          : ["temperature", "top_p", "top_k"];
      for (const field of [...fields, "unknown"]) {
        const answer = await send(cell, short(cell, `"${field}":${number},`));
        expect([200, 400], `${field}: ${answer.message}`).toContain(answer.status);
        expect(answer.status === 200 || answer.message.includes(field), `${field}: ${answer.message}`).toBe(true);
      }
      const limit = await send(cell, short(cell).replace('"max_tokens":64', `"max_tokens":${number}`));
      expect([200, 400], `answered ${limit.message}`).toContain(limit.status);
    },
  );

  test("may send a string of 30 MB", { timeout: 60_000 }, async () => {
    const answer = await send(cell, short(cell, "", "x".repeat(30_000_000)));
    expect(answer.status).toBe(200);
  });

  test("that sends 34 MB gets an error that states the limit", { timeout: 60_000 }, async () => {
    const answer = await send(cell, short(cell, "", "x".repeat(34_000_000)));
    expect(answer).toMatchObject({ status: 413, message: expect.stringMatching(/32 MiB|33554432 bytes/) });
  });

  test.for(["", " ", "null", "true", "7", '"text"', "[]", "{", "{}", '{"model"', "\u0000", "\ufeff{}", "// nothing\n{}"])(
    "that sends only %j gets an error that says what to send",
    async (body) => {
      const answer = await send(cell, body);
      expect(answer).toMatchObject({ status: 400, message: expect.stringMatching(/body|model/) });
    },
  );

  test("is understood without the JSON content type", async () => {
    for (const type of ["text/plain", "application/x-www-form-urlencoded", "application/octet-stream", "nonsense"]) {
      expect(await send(cell, short(cell), { "content-type": type })).toMatchObject({ status: 200 });
    }
  });

  test("that compresses its body gets an error that asks for it uncompressed", async () => {
    const answer = await send(cell, gzipSync(short(cell)), { "content-encoding": "gzip" });
    expect(answer).toMatchObject({ status: 400, message: expect.stringContaining("content-encoding") });
  });

  test("that says that its body is not compressed is understood", async () => {
    expect(await send(cell, short(cell), { "content-encoding": "identity" })).toMatchObject({ status: 200 });
  });
});

const EXPECTED_WARNINGS = [
  // Passthrough requests get an upstream's refusals by design.
  "error from the model server",
  // The simulated server reads prompts that no real one would: they are longer than its Model's context window.
  "implausible usage reported by the model server; charging a corrected amount",
];

test("afterwards the gateway answers as before, has logged no error, and has freed its memory", async () => {
  for (const cell of CELLS) expect(await send(cell, short(cell))).toMatchObject({ status: 200 });
  const metrics = await plane.idle();
  expect(metrics.get("gateway_internal_failures_total")).toBe(0);
  await eventually(async () => expect(await plane.heldBytes()).toBeLessThan(bytesBefore + 16 * MEBIBYTE));
  const lines = (await readFile(path.join(logFolder, "extproc.log"), "utf8")).split("\n");
  const complaints = lines.map((line) => readComplaint(line)?.message);
  expect(new Set(complaints)).toEqual(new Set([undefined, ...EXPECTED_WARNINGS]));
  expect([...stack.complaints, ...plane.envoyComplaints()]).toEqual([]);
});

/** The fault in the answer to an invalid body, or null. */
function faultOf(variant: WrongBody, answer: Answer): string | null {
  const what = `${variant.field} = ${variant.value}: ${answer.status} ${answer.message}`;
  if (!ANSWERED.includes(answer.status)) return what;
  return answer.status === 200 || answer.message.includes(variant.root) ? null : what;
}

async function inParallel<Item, Result>(items: readonly Item[], work: (item: Item) => Promise<Result>): Promise<Result[]> {
  const results: Result[] = [];
  const queue = items.values();
  const worker = async () => {
    for (const item of queue) results.push(await work(item));
  };
  await Promise.all(Array.from({ length: 16 }, worker));
  return results;
}
