import { expect, test } from "vitest";
import { MAX_ORIGIN_CHARACTERS, parseWebOrigin, WEB_ORIGIN } from "../../../runtime/web-origin.ts";

test.for([
  ["https://app.example.com", "https://app.example.com"],
  ["HTTPS://App.Example.com/", "https://app.example.com"],
  ["https://app.example.com:443", "https://app.example.com"],
  ["http://app.example.com:443", "http://app.example.com:443"],
  ["http://localhost:5173", "http://localhost:5173"],
  ["http://127.0.0.1:80", "http://127.0.0.1"],
  ["http://[0:0::1]:8080", "http://[::1]:8080"],
  ["https://bücher.example", "https://xn--bcher-kva.example"],
] as const)("%s is the origin %s", ([text, origin]) => {
  expect(parseWebOrigin(text)).toEqual({ kind: "origin", origin });
  expect(WEB_ORIGIN.test(origin)).toBe(true);
});

test.for([
  "https://app.example.com/chat",
  "https://app.example.com?a",
  "https://app.example.com#a",
  "https://me@app.example.com",
])("%s is more than its origin", (text) => {
  expect(parseWebOrigin(text)).toEqual({ kind: "page", origin: "https://app.example.com" });
});

test.for([
  "",
  "*",
  "null",
  "app.example.com",
  "localhost:5173",
  "https://*.example.com",
  "https://",
  "ftp://a.example",
  "file:///a",
])("%j is no origin", (text) => expect(parseWebOrigin(text)).toEqual({ kind: "no origin" }));

test("the longest origin has its scheme, a name of 253 characters and a port", () => {
  const name = ["a", "b", "c"].map((letter) => letter.repeat(63)).join(".");
  const longest = `https://${name}.${"d".repeat(61)}:65535`;
  expect(longest).toHaveLength(MAX_ORIGIN_CHARACTERS);
  expect(parseWebOrigin(longest)).toEqual({ kind: "origin", origin: longest });
  expect(parseWebOrigin(`${longest}/`)).toEqual({ kind: "no origin" });
});
