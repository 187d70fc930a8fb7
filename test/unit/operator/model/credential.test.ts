import { expect, test } from "vitest";
import { backendResourceSchema } from "../../../../operator/model/backend-resource.ts";
import { resolveCredential } from "../../../../operator/model/credential.ts";

const resource = backendResourceSchema.parse({
  name: "primary",
  protocol: "ChatCompletions",
  url: "https://models.example/v1",
  credentialRef: { name: "provider" },
});

function resolve(value: string) {
  return resolveCredential(resource, {
    find: ({ name }) => ({ kind: "found", name: `team-a/${name}`, value }),
    serverAt: () => {
      throw new Error("A key needs no server.");
    },
    google: null,
  });
}

test("a key may end with line feeds, and is as long as a header can be", () => {
  expect(resolve(`${"k".repeat(16_384)}\n\n`)).toMatchObject({ kind: "ready", words: ["k".repeat(16_384)] });
});

test.for([
  ["\n", "must not be empty"],
  ["two words", "must be printable text without spaces"],
  ["one\r\nx-other: header", "must be printable text without spaces"],
  ["schlüssel", "must be printable text without spaces"],
  ["k".repeat(16_385), "must be at most 16384 characters"],
] as const)("anything else is a problem of its backend: %s", ([value, problem]) => {
  expect(resolve(value)).toEqual({
    kind: "missing",
    reason: "InvalidCredential",
    message: `Secret team-a/provider, key api-key, ${problem}`,
  });
});
