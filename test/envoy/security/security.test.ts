import { connect } from "node:net";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import * as z from "zod";
import { eventually } from "../../support/eventually.ts";
import { clearJournal, readJournal } from "../../support/servers/simulator-journal.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** Hostile input to the one port (docs/security.md): bytes that two readers might read in two ways, names that are ours, paths around. */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack();
});
afterAll(() => stack.stop());
beforeEach(() => clearJournal(stack.simulatorUrl));

const SILENCE_MS = 1_500;
const HIDDEN = "hidden-request";

/** Sends bytes as they are. @returns all that came back, until the other side closed or was silent. */
function sendBytes(text: string): Promise<string> {
  const { hostname, port } = new URL(stack.baseUrl);
  const { promise, resolve } = Promise.withResolvers<string>();
  let answer = "";
  const socket = connect(Number(port), hostname, () => socket.write(text, "latin1"));
  socket.setTimeout(SILENCE_MS, () => socket.destroy());
  socket.on("data", (piece) => (answer += piece.toString("latin1")));
  // Envoy resets what it cannot read.
  socket.on("error", () => {});
  socket.on("close", () => resolve(answer));
  return promise;
}

const statusesOf = (answer: string) => [...answer.matchAll(/HTTP\/1\.1 (\d{3}) /g)].map(([, status]) => Number(status));
const ask = (content: string) =>
  JSON.stringify({ model: "modelx-v4-pro", max_tokens: 20, messages: [{ role: "user", content }] });

/** A whole request, which must never be read out of the body of another. */
const hidden = () => {
  const body = ask(HIDDEN);
  return `POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${stack.apiKey}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
};

async function wasHiddenServed(): Promise<boolean> {
  return (await readJournal(stack.simulatorUrl)).some(({ body }) => body.includes(HIDDEN));
}

describe("a request whose end two readers might place differently", () => {
  const head = (lines: string[]) =>
    ["POST /v1/chat/completions HTTP/1.1", "host: x", `authorization: Bearer ${stack.apiKey}`, ...lines, "", ""].join("\r\n");

  test.for([
    [
      "both lengths",
      () => head([`content-length: ${hidden().length + 5}`, "transfer-encoding: chunked"]) + `0\r\n\r\n${hidden()}`,
    ],
    ["both, the other way round", () => head(["transfer-encoding: chunked", "content-length: 4"]) + `0\r\n\r\n${hidden()}`],
    ["two different lengths", () => head(["content-length: 0", `content-length: ${hidden().length}`]) + hidden()],
    ["a list of lengths", () => head([`content-length: 0, ${hidden().length}`]) + hidden()],
    ["a length with a sign", () => head(["content-length: +0"]) + hidden()],
    ["a hexadecimal length", () => head(["content-length: 0x0"]) + hidden()],
    ["chunked that is not last", () => head(["transfer-encoding: chunked, identity"]) + `0\r\n\r\n${hidden()}`],
    ["chunked in other words", () => head(["transfer-encoding: xchunked"]) + `0\r\n\r\n${hidden()}`],
    ["a space before the colon", () => head([`transfer-encoding : chunked`, "content-length: 0"]) + hidden()],
    ["a folded header", () => head(["x-note: a", ` transfer-encoding: chunked`, "content-length: 0"]) + hidden()],
    ["a chunk size with a sign", () => head(["transfer-encoding: chunked"]) + `-1\r\n\r\n${hidden()}`],
    ["a chunk size that overflows", () => head(["transfer-encoding: chunked"]) + `10000000000000000\r\n\r\n${hidden()}`],
  ] as const)("by %s is refused, and the connection closed", async ([, write]) => {
    const answer = await sendBytes(write());
    const statuses = statusesOf(answer);
    expect(statuses.length, answer).toBeLessThanOrEqual(1);
    for (const status of statuses) expect([400, 501], answer).toContain(status);
    expect(await wasHiddenServed()).toBe(false);
  });

  test("a folded header is one header, whatever its second line looks like", async () => {
    const body = ask("Hello.");
    const answer = await sendBytes(
      head(["x-note: a", ` transfer-encoding: chunked`, `content-length: ${body.length}`, "connection: close"]) + body,
    );
    expect(statusesOf(answer)).toEqual([200]);
  });

  test("two pipelined requests are two, each with its own answer", async () => {
    const statuses = statusesOf(await sendBytes(hidden() + hidden()));
    expect(statuses).toEqual([200, 200]);
    expect(await wasHiddenServed()).toBe(true);
  });
});

const entrySchema = z.object({ requests: z.array(z.object({ headers: z.record(z.string(), z.unknown()), body: z.string() })) });

test("names of the gateway's own headers, network headers and cookies are not passed on, and change nothing", async () => {
  const spoofed = {
    "x-gateway-backend": "model/modelx-v4-flash/simulated",
    "x-gateway-timed": "1",
    "x-gateway-try-next": "1",
    "x-envoy-upstream-rq-timeout-ms": "1",
    "x-envoy-max-retries": "9",
    "x-envoy-original-path": "/v1/models",
    "x-envoy-decorator-operation": "spoofed",
    "x-forwarded-for": "10.0.0.1",
    "x-forwarded-host": "evil.example",
    "x-real-ip": "10.0.0.1",
    forwarded: "for=10.0.0.1",
    cookie: "session=abc",
    "proxy-authorization": "Basic eDp5",
    "x-request-id": "01890000-0000-7000-8000-000000000000",
    "x-amzn-trace-id": "Root=1",
    te: "trailers",
    "x-http-method-override": "DELETE",
    "x-original-url": "/dashboard/admin",
    "x-rewrite-url": "/dashboard/admin",
  };
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { ...spoofed, "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: ask("Hello."),
  });
  expect(response.status).toBe(200);
  expect(response.headers.get("x-request-id")).not.toBe(spoofed["x-request-id"]);
  for (const name of response.headers.keys()) expect(name).not.toMatch(/^x-envoy-|^x-gateway-(backend|timed|try)/);
  const journal = entrySchema.parse(await (await fetch(`${stack.simulatorUrl}/simulator/requests`)).json());
  const [received] = journal.requests;
  const { "x-request-id": requestId, ...headers } = received?.headers ?? {};
  expect(requestId).toBe(response.headers.get("x-request-id"));
  expect(Object.keys(headers).filter((name) => Object.hasOwn(spoofed, name))).toEqual([]);
  expect(received?.body).toContain("Hello.");
});

test.for([
  "/v1/../v1/chat/completions",
  "/v1/./chat/completions",
  "//v1/chat/completions",
  "/v1//chat/completions",
  "/v1/chat/completions/",
  "/v1/chat/completions/..;/x",
  "/v1/chat%2fcompletions",
  "/v1/%63hat/completions",
  "/V1/chat/completions",
  "/v1/chat/completions%00",
  "/v1/chat/completions;a=b",
  "/dashboard/../v1/chat/completions",
  "/dashboard/..%2f..%2fv1/chat/completions",
  "http://evil.example/v1/chat/completions",
  "\\v1\\chat\\completions",
])("the path %s leads to no other path and to no model", async (path) => {
  const body = ask(HIDDEN);
  const answer = await sendBytes(
    `POST ${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${stack.apiKey}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  const [status = 0] = statusesOf(answer);
  // An absolute address is a form that HTTP has: its host means nothing here. A slash at the end means nothing either.
  const isServed = path.startsWith("http://") || path.endsWith("/");
  expect(isServed ? [200] : [400, 403, 404, 405], answer).toContain(status);
  expect(await wasHiddenServed()).toBe(isServed);
});

test.for([
  ["fullwidth letters", (key: string) => key.replace("sk-", "ｓｋ-")],
  ["a Cyrillic letter", (key: string) => key.replace("k", "к")],
  ["another case", (key: string) => key.toUpperCase()],
  ["a zero-width space", (key: string) => `${key}\u200b`],
  ["combining marks", (key: string) => `${key}\u0301`],
  ["a NUL", (key: string) => `${key}\u0000`],
  ["a megabyte", (key: string) => key + "x".repeat(50_000)],
] as const)("a key with %s is 401 or 400, and never accepted", async ([, spoil]) => {
  const bytes = Buffer.from(spoil(stack.apiKey)).toString("latin1");
  const body = ask(HIDDEN);
  const answer = await sendBytes(
    `POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: ${bytes}\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  expect([400, 401, 431], answer).toContain(statusesOf(answer)[0]);
  expect(answer).not.toContain(stack.apiKey);
  expect(await wasHiddenServed()).toBe(false);
});

test.for([
  ["arrays", "[", "]"],
  ["objects", '{"a":', "}"],
] as const)("JSON of 200,000 nested %s is refused with a message, and the gateway survives", async ([, open, close]) => {
  const deep = open.repeat(200_000) + (open === "[" ? "" : "1") + close.repeat(200_000);
  for (const body of [deep, ask("Hi.").replace('"Hi."', deep), ask("Hi.").replace("{", `{"metadata":${deep},`)]) {
    const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
      body,
    });
    expect([200, 400], await response.text()).toContain(response.status);
  }
  const after = await fetch(`${stack.baseUrl}/v1/models`, { headers: { authorization: `Bearer ${stack.apiKey}` } });
  expect(after.status).toBe(200);
});

test("an email's link points to this service, whatever the Host header contained", async () => {
  const body = new URLSearchParams({ email: "demo@example.com" }).toString();
  await sendBytes(
    `POST /dashboard/forgot HTTP/1.1\r\nhost: evil.example\r\nx-forwarded-host: evil.example\r\ncontent-type: application/x-www-form-urlencoded\r\nconnection: close\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
  );
  await eventually(async () => {
    const outbox = await (await fetch(`${stack.baseUrl}/dashboard/outbox`)).text();
    expect(outbox).toContain(`${stack.baseUrl}/dashboard/reset?token`);
    expect(outbox).not.toContain("evil.example");
  });
});

test("afterwards no part has logged a failure, and each request is accounted for", async () => {
  await stack.idle();
  // The simulated model server refuses what is nested so deeply; the gateway passes it on, and says so.
  expect(stack.complaints.filter((complaint) => !complaint.includes("error from the model server"))).toEqual([]);
  expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
});
