import { describe, expect, test } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import { createRedactor } from "../../../extproc/redactor.ts";
import type { StreamTranslation } from "../../../extproc/translate/translation.ts";
import { byLength, fingerprintsOf } from "../../../runtime/credential-fingerprint.ts";

const PEPPER = Buffer.alloc(32, 7);
const KEY = "px-live-Zk3v9QmT7wLr2YbN";
const OTHER = "0123456789abcdef.A-second_key/with+signs=";
const fingerprints = byLength([KEY, OTHER].flatMap((credential) => fingerprintsOf(credential, PEPPER)));
const redactor = createRedactor({ fingerprints: () => fingerprints, pepper: PEPPER });
const everyCharacter = (encode: (code: string) => string) =>
  Array.from(Buffer.from(KEY), (code) => encode(code.toString(16))).join("");

describe("a credential is removed from a text", () => {
  test.for<readonly [string, string, string]>([
    ["as it is", KEY, "[redacted]"],
    ["behind the word Bearer", `Authorization: Bearer ${KEY}.`, "Authorization: Bearer [redacted]."],
    ["in quotes, twice", `'${KEY}' is not "${KEY}"`, `'[redacted]' is not "[redacted]"`],
    ["in JSON", JSON.stringify({ key: KEY }), '{"key":"[redacted]"}'],
    ["in JSON within JSON", JSON.stringify(JSON.stringify({ key: KEY })), String.raw`"{\"key\":\"[redacted]\"}"`],
    ["in a query string", `GET /v1?api_key=${KEY}&page=2`, "GET /v1?api_key=[redacted]&page=2"],
    ["URL-encoded", `key%3D${KEY.replaceAll("-", "%2D")}%26`, "key%3D[redacted]%26"],
    ["URL-encoded twice", `key%253D${KEY.replaceAll("-", "%252D")}%2526`, "key%253D[redacted]%2526"],
    ["URL-encoded to the last letter", everyCharacter((code) => `%${code}`), "[redacted]"],
    ["as JSON escapes", everyCharacter((code) => `\\u00${code}`), "[redacted]"],
    ["as HTML", `&quot;${KEY.replaceAll("-", "&#45;")}&quot;`, "&quot;[redacted]&quot;"],
    ["after an escaped line feed", `key:\\n${KEY}\\n`, "key:\\n[redacted]\\n"],
    ["in other case", KEY.toUpperCase(), "[redacted]"],
    ["as base64", `key ${Buffer.from(KEY).toString("base64")}`, "key [redacted]"],
    ["as base64 of the header", `"${Buffer.from(`Bearer ${KEY}`).toString("base64")}"`, '"[redacted]=="'],
    ["as base64 with signs", `two: ${Buffer.from(OTHER).toString("base64")}`, "two: [redacted]="],
    ["as base64url", `key=${Buffer.from(KEY).toString("base64url")}`, "key=[redacted]"],
    ["as hex", Buffer.from(KEY).toString("hex"), "[redacted]"],
    ["with other signs", `two: ${OTHER}`, "two: [redacted]="],
    ["without what stands before its secret part", "part 0123456789ABCDEF here", "part [redacted] here"],
  ])("%s", ([, text, redacted]) => {
    expect(redactor.text(text)).toBe(redacted);
  });

  test.for([
    "The model `px-live` does not support tools.",
    "Incorrect API key: px-live-********2YbN",
    `x${KEY.replaceAll("-", "")}x`,
    "px live",
    "",
  ])("anything but a credential stays: %s", (text) => {
    expect(redactor.text(text)).toBe(text);
  });
});

test("a text with too many words to compare is cut where comparing ended, before a later credential", () => {
  const text = `${KEY} ${"a ".repeat(50_000)}${KEY}`;
  const redacted = redactor.text(text);
  expect(redacted).toMatch(/^\[redacted\] a a .* \[cut\]$/);
  expect(redacted.length).toBeLessThan(text.length / 2);
});

test("an ordinary word in a credential is not secret, and a short credential cannot be distinguished from a word", () => {
  const lengths = fingerprintsOf("gateway-provider-key", PEPPER).map(({ length }) => length);
  // As it is, and encoded three times.
  expect(lengths).toHaveLength(4);
  expect(Math.min(...lengths)).toBe("gatewayproviderkey".length);
  expect(fingerprintsOf("secret", PEPPER)).toEqual([]);
});

test("fingerprints differ by pepper, and contain nothing of the credential", () => {
  const [first] = fingerprintsOf(KEY, PEPPER);
  const [second] = fingerprintsOf(KEY, Buffer.alloc(32, 8));
  expect(first?.hash).not.toBe(second?.hash);
  expect(JSON.stringify(first)).not.toContain("Zk3v9");
});

test("an error loses it from its message, field, headers and cause, and keeps the rest", () => {
  const cause = new Error(`upstream answered 400: ${KEY}`);
  const headers = { "retry-after": "3", "retry-after-ms": KEY };
  const error = redactor.error(new GatewayError("invalid_request", `no ${KEY}`, { status: 422, field: KEY, headers, cause }));
  expect(error).toMatchObject({ code: "invalid_request", status: 422, field: null, message: "no [redacted]" });
  expect(error.headers).toEqual({ "retry-after": "3" });
  expect(error.cause).toEqual(new Error("upstream answered 400: [redacted]"));
});

test("a stream passes unchanged until it fails; after that no part of it shows the credential", () => {
  let outcome: "open" | "failed" = "open";
  const machine: StreamTranslation = {
    push(chunk) {
      if (chunk.includes("error")) outcome = "failed";
      return "unchanged";
    },
    end: () => Buffer.from(`data: ${KEY}\n\n`),
    fail: () => Buffer.alloc(0),
    stopForCredit: () => Buffer.alloc(0),
    isEnding: () => outcome !== "open",
    outcome: () => outcome,
    failure: () => null,
    heldBytes: () => 0,
  };
  const stream = redactor.stream(machine, (error) => `data: ${error.message}\n\n`);
  expect(stream.push(Buffer.from(`data: ${KEY}\n\n`))).toBe("unchanged");
  expect(String(stream.push(Buffer.from(`event: error\ndata: {"message":"${KEY}"}\n\n`)))).toBe(
    'event: error\ndata: {"message":"[redacted]"}\n\n',
  );
  expect(String(stream.end())).toBe("data: [redacted]\n\n");
  // A machine that has failed says no more: what cannot be compared still ends with an error event, once.
  expect(String(stream.push(Buffer.alloc(33 * 1024, "x")))).toBe("data: The model server failed. Try again.\n\n");
  expect(String(stream.push(Buffer.alloc(33 * 1024, "x")))).toBe("");
  expect(String(stream.end())).toBe("");
});
