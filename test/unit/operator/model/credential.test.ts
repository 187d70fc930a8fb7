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
  { name: "an empty value", value: "\n", problem: "must not be empty" },
  { name: "two words", value: "two words", problem: "must be printable text without spaces" },
  { name: "two lines", value: "one\r\nx-other: header", problem: "must be printable text without spaces" },
  { name: "a letter that no header has", value: "schlüssel", problem: "must be printable text without spaces" },
  { name: "a whole file", value: "k".repeat(16_385), problem: "must be at most 16384 characters" },
])("anything else is a problem of its backend: $name", ({ value, problem }) => {
  expect(resolve(value)).toEqual({
    kind: "missing",
    reason: "InvalidCredential",
    message: `Secret team-a/provider, key api-key, ${problem}`,
  });
});
