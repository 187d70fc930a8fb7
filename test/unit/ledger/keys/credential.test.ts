import { expect, test } from "vitest";
import { findCredential } from "../../../../ledger/keys/credential.ts";

const KEYS_URL = "https://gateway.test/dashboard/keys";
const headers = (entries: Record<string, string>) => new Map(Object.entries(entries));

test.for([
  ["Authorization: Bearer", { authorization: "Bearer sk-mg-one" }],
  ["a lower-case scheme", { authorization: "bearer sk-mg-one" }],
  ["x-api-key", { "x-api-key": "sk-mg-one" }],
  ["x-api-key, beside an empty Bearer", { authorization: "Bearer ", "x-api-key": "sk-mg-one" }],
  ["both with the same value", { authorization: "Bearer sk-mg-one", "x-api-key": "sk-mg-one" }],
] as const)("the key is read from %s (S3)", ([, entries]) => {
  expect(findCredential(headers(entries), KEYS_URL)).toBe("sk-mg-one");
});

test.for([
  ["two different keys", { authorization: "Bearer sk-mg-one", "x-api-key": "sk-mg-two" }, "two different API keys"],
  ["no key", {}, "carries no API key. Create a key at https://gateway.test/dashboard/keys"],
  ["another service's header", { "api-key": "k" }, "The header `api-key` is ignored."],
  ["a key in the address", { ":path": "/v1/models?api_key=secret" }, "A key in the URL is ignored"],
  ["an empty x-api-key", { "x-api-key": "  " }, "carries no API key"],
  ["an empty Bearer", { authorization: "Bearer " }, "carries no API key. Nothing follows `Bearer`"],
  ["another scheme", { authorization: "Basic abc" }, "must have the form `Bearer <key>`"],
] as const)("%s is a 401 that explains the remedy (S3, S18)", ([, entries, sentence]) => {
  expect(() => findCredential(headers(entries), KEYS_URL)).toThrow(
    expect.objectContaining({ code: "invalid_api_key", status: 401, message: expect.stringContaining(sentence) }),
  );
});
