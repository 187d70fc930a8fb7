import { expect, test } from "vitest";
import { headerLines, langfuseCredentials } from "../../../../dashboard/traces/headers.ts";

test("headers are read line by line, with names in lower case", () => {
  expect(headerLines.parse("Authorization: Bearer a:b\r\n\n X-Team :  search ")).toEqual([
    ["authorization", "Bearer a:b"],
    ["x-team", "search"],
  ]);
  expect(headerLines.parse("")).toEqual([]);
});

test.for([
  ["no colon", "letters, digits and hyphens|must have 1 to"],
  ["a b: c", "only letters"],
  ["x\u0000y: c", "only letters"],
  ["host: elsewhere", "sets host itself"],
  ["Content-Length: 5", "sets content-length itself"],
  ["transfer-encoding: chunked", "sets transfer-encoding itself"],
  ["a: 1\nA: 2", "a appears twice"],
  ["a:", "must have 1 to 4000 ASCII characters"],
  ["a: caf\u00e9", "ASCII characters"],
  ["a: b\u0007c", "ASCII characters"],
  [`a: ${"x".repeat(4_001)}`, "must have 1 to 4000 ASCII characters"],
  [Array.from({ length: 11 }, (_, index) => `h${index}: v`).join("\n"), "at most 10 headers"],
] as const)("%j is refused without repeating its value", ([text, words]) => {
  const { error } = headerLines.safeParse(text);
  expect(error?.issues[0]?.message).toMatch(new RegExp(words));
});

test("a value cannot add a header of its own", () => {
  // A lone carriage return is no end of a line here, and would be one to some servers.
  expect(headerLines.safeParse("a: b\rx-evil: c").success).toBe(false);
});

test("Langfuse's keys are Basic authentication", () => {
  expect(langfuseCredentials({ publicKey: "pk-lf-1", secretKey: "sk-lf-2" })).toEqual([
    ["authorization", `Basic ${Buffer.from("pk-lf-1:sk-lf-2").toString("base64")}`],
  ]);
});
