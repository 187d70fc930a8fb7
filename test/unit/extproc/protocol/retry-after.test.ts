import { describe, expect, test } from "vitest";
import { readRetryAfterMs, retryHeaders } from "../../../../extproc/protocol/retry-after.ts";

const at = (headers: Record<string, string>) => new Map(Object.entries(headers));

test.for([
  [{ "retry-after": "7" }, 7_000],
  [{ "retry-after": " 0.5 " }, 500],
  [{ "retry-after": "0" }, 0],
  [{ "retry-after-ms": "250", "retry-after": "7" }, 250],
  [{ "retry-after-ms": "soon", "retry-after": "7" }, 7_000],
  [{ "retry-after": "Thu, 01 Jan 1970 00:00:09 GMT" }, 8_000],
  [{ "retry-after": "Thursday, 01-Jan-70 00:00:09 GMT" }, 8_000],
  [{ "retry-after": "1970-01-01T00:00:09Z" }, 8_000],
  [{ "retry-after": "Thu, 01 Jan 1970 00:00:00 GMT" }, 0],
  [{}, null],
] as const)("retry-after %j is %s ms (S22)", ([headers, expected]) => {
  expect(readRetryAfterMs(at(headers), 1_000)).toBe(expected);
});

test.for(["soon", "-5", "in 5 minutes", "5 minutes", "1e9", "Infinity", "NaN", "0x10", "Mon, 99 Foo", "7, 8", ""])(
  "retry-after %j is unreadable: the client's own pause applies (S22)",
  (value) => {
    expect(readRetryAfterMs(at({ "retry-after": value }), 1_000)).toBeNull();
    expect(retryHeaders(at({ "retry-after": value }), 1_000)).toEqual({});
  },
);

describe("no client waits longer than ten minutes because a model server says so (S22)", () => {
  test.for([
    { "retry-after": "3600" },
    { "retry-after": "31536000" },
    { "retry-after": "99999999999999999999" },
    { "retry-after": "Fri, 31 Dec 9999 23:59:59 GMT" },
  ])("%j", (headers) => {
    expect(retryHeaders(at(headers), 1_000)).toEqual({ "retry-after": "600" });
  });

  test("nor because of milliseconds, which SDKs prefer", () => {
    const headers = { "retry-after": "7", "retry-after-ms": "86400000" };
    expect(retryHeaders(at(headers), 1_000)).toEqual({ "retry-after": "600", "retry-after-ms": "600000" });
  });
});

test.for([
  [{ "retry-after": "0" }, { "retry-after": "1" }],
  [{ "retry-after": "1.2" }, { "retry-after": "2" }],
  [{ "retry-after": "Thu, 01 Jan 1970 00:00:09 GMT" }, { "retry-after": "8" }],
  [{ "retry-after-ms": "1200.4" }, { "retry-after": "2", "retry-after-ms": "1201" }],
] as const)("clients get %j as whole seconds, which all of them read: %j (S22)", ([headers, expected]) => {
  expect(retryHeaders(at(headers), 1_000)).toEqual(expected);
});
