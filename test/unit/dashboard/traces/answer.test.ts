import { gzipSync } from "node:zlib";
import { create, toBinary } from "@bufbuild/protobuf";
import { expect, test } from "vitest";
import type { TargetNetworks } from "../../../../dashboard/outbound/networks.ts";
import type { OutboundAnswer } from "../../../../dashboard/outbound/post.ts";
import { readAnswer } from "../../../../dashboard/traces/answer.ts";
import { StatusSchema } from "../../../../runtime/gen/google/rpc/status_pb.js";
import { ExportTraceServiceResponseSchema } from "../../../../runtime/gen/otlp/traces_pb.js";

const NOW = Date.parse("2026-11-27T10:00:00.000Z");
const PROTOBUF = { "content-type": "application/x-protobuf" };

function read(
  answer: Partial<OutboundAnswer>,
  { networks = "public", secrets = [] }: { networks?: TargetNetworks; secrets?: readonly string[] } = {},
) {
  return readAnswer({ status: 200, headers: {}, body: Buffer.alloc(0), ...answer }, { networks, secrets, nowMs: NOW });
}

const partial = (rejectedSpans: bigint, errorMessage: string) =>
  Buffer.from(
    toBinary(
      ExportTraceServiceResponseSchema,
      create(ExportTraceServiceResponseSchema, { partialSuccess: { rejectedSpans, errorMessage } }),
    ),
  );
const status = (message: string) => Buffer.from(toBinary(StatusSchema, create(StatusSchema, { message })));

test("an accepted batch may have rejected spans, or a remark", () => {
  expect(read({})).toEqual({ kind: "accepted", rejected: 0, remark: null });
  expect(read({ headers: PROTOBUF, body: partial(3n, "too old") })).toEqual({ kind: "accepted", rejected: 3, remark: "too old" });
  expect(read({ headers: PROTOBUF, body: partial(0n, "use TLS") })).toEqual({ kind: "accepted", rejected: 0, remark: "use TLS" });
  // Nonsense is not worth a failure: the status counts.
  expect(read({ headers: PROTOBUF, body: Buffer.from("nonsense") })).toEqual({ kind: "accepted", rejected: 0, remark: null });
  expect(read({ headers: PROTOBUF, body: partial(-5n, "") })).toMatchObject({ rejected: 0 });
});

test("a web page is no answer to a batch", () => {
  expect(read({ headers: { "content-type": "text/html; charset=utf-8" } })).toMatchObject({ kind: "refused" });
});

test.for([
  [429, "later"],
  [408, "later"],
  [500, "later"],
  [502, "later"],
  [503, "later"],
  [504, "later"],
  [400, "unfit"],
  [413, "unfit"],
  [301, "refused"],
  [401, "refused"],
  [403, "refused"],
  [404, "refused"],
  [415, "refused"],
] as const)("status %s means %s (S61)", ([code, kind]) => {
  expect(read({ status: code })).toMatchObject({ kind, problem: `The server answered with status ${code}.` });
});

test.for([
  ["7", 7_000],
  ["0", 1_000],
  ["99999999", 3_600_000],
  ["Fri, 27 Nov 2026 10:01:00 GMT", 60_000],
  ["Fri, 27 Nov 2026 09:00:00 GMT", 1_000],
  ["soon", undefined],
  [undefined, undefined],
] as const)("retry-after %s is a wait of %s ms", ([header, ms]) => {
  const headers = header === undefined ? {} : { "retry-after": header };
  expect(read({ status: 429, headers })).toMatchObject({ kind: "later", retryAfterMs: ms });
});

test("OTLP's own message is shown wherever targets may be; other text only if they must be public", () => {
  const own = { status: 401, headers: PROTOBUF, body: status("unknown\ntoken") };
  const text = { status: 401, headers: { "content-type": "text/plain; charset=utf-8" }, body: Buffer.from("internal: no") };
  for (const networks of ["public", "any"] as const)
    expect(read(own, { networks })).toMatchObject({ problem: "The server answered with status 401: unknown token" });
  expect(read(text)).toMatchObject({ problem: "The server answered with status 401: internal: no" });
  expect(read(text, { networks: "any" })).toMatchObject({ problem: "The server answered with status 401." });
});

test("a credential that a server repeats is removed, and nothing is decompressed or long", () => {
  const secrets = ["Bearer abcdef123456", "plain-secret"];
  const body = Buffer.from(`bad token abcdef123456, header "Bearer abcdef123456", plain-secret ${"x".repeat(10_000)}`);
  const result = read({ status: 403, headers: { "content-type": "text/plain" }, body }, { secrets });
  expect(JSON.stringify(result)).not.toMatch(/abcdef123456|plain-secret/);
  expect(JSON.stringify(result).length).toBeLessThan(400);
  // One that is cut off at the end of what is shown, too.
  const late = Buffer.from(`${"y".repeat(195)} abcdef123456`);
  expect(JSON.stringify(read({ status: 403, headers: { "content-type": "text/plain" }, body: late }, { secrets }))).not.toContain(
    "abc",
  );
  const bomb = { "content-type": "text/plain", "content-encoding": "gzip" };
  expect(read({ status: 500, headers: bomb, body: gzipSync("hello") })).toMatchObject({
    problem: "The server answered with status 500.",
  });
});
