import { expect, test } from "vitest";
import * as z from "zod";
import { explain } from "../../../../operator/crd/explain.ts";
import { toStructuralSchema } from "../../../../operator/crd/structural-schema.ts";

const text = z.string().describe("A text.");
const fieldOf = (schema: z.ZodType) => {
  const { properties } = toStructuralSchema(z.strictObject({ field: schema }));
  return z.object({ field: z.unknown() }).parse(properties).field;
};

test("an object states its requirements, and nothing about what else it rejects", () => {
  const schema = z.strictObject({ needed: text, left: text.optional(), filled: text.default("x") });
  expect(toStructuralSchema(schema)).toStrictEqual({
    type: "object",
    required: ["needed"],
    properties: {
      needed: { description: "A text.", type: "string" },
      left: { description: "A text.", type: "string" },
      filled: { description: "A text.", type: "string", default: "x" },
    },
  });
});

test("patterns are CEL rules with zod's messages, each once, even if a text was described again", () => {
  const base = z
    .string()
    .regex(/^a\/\d$/, "must be a path")
    .regex(/x/, { error: () => "must have an x" })
    .max(9)
    .describe("Base.");
  expect(fieldOf(base.describe("Anew."))).toStrictEqual({
    description: "Anew.",
    type: "string",
    maxLength: 9,
    "x-kubernetes-validations": [
      { rule: String.raw`self.matches("^a/\\d$")`, message: "must be a path" },
      { rule: `self.matches("x")`, message: "must have an x" },
    ],
  });
});

test("explicit rules come before those of its patterns", () => {
  const rules = [{ rule: "self != 'b'", message: "must not be b" }];
  expect(fieldOf(z.string().regex(/b/, "must have a b").meta(explain("A text.", { rules })))).toMatchObject({
    "x-kubernetes-validations": [rules[0], { rule: `self.matches("b")`, message: "must have a b" }],
  });
});

test("a transformed field is described as it is written", () => {
  expect(fieldOf(text.transform(Number).optional())).toStrictEqual({ description: "A text.", type: "string" });
  expect(fieldOf(text.transform(Number).prefault("1"))).toMatchObject({ type: "string", default: "1" });
});

test.for<[string, z.ZodType, object]>([
  ["a whole number above 0", z.int().positive(), { type: "integer", format: "int64", minimum: 1 }],
  ["a word of some", z.enum(["a", "b"]), { type: "string", enum: ["a", "b"] }],
  ["the one word", z.literal("a"), { type: "string", enum: ["a"] }],
  ["null as well", z.int().max(5).nullable(), { type: "integer", nullable: true, maximum: 5 }],
  ["a set", z.array(text).meta(explain("A set.", { list: "set" })), { type: "array", "x-kubernetes-list-type": "set" }],
  [
    "a list by key",
    z.array(z.strictObject({ name: text })).meta(explain("A list.", { list: { key: "name" } })),
    { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
  ],
  [
    "a record over known words",
    z.partialRecord(z.enum(["low", "high"]), z.string().min(1)),
    { type: "object", properties: { low: { description: "Value sent for low.", type: "string", minLength: 1 } } },
  ],
])("%s", ([, schema, expected]) => {
  expect(fieldOf(schema.describe(schema.description ?? "A field."))).toMatchObject(expected);
});

test("a field without a description is rejected, however deep", () => {
  const inner = z.strictObject({ bare: z.string() }).describe("Inner.");
  expect(() => toStructuralSchema(z.strictObject({ list: z.array(inner).describe("List.") }))).toThrow(
    ".list[].bare has no description.",
  );
});

test("anything that Kubernetes cannot express is rejected", () => {
  expect(() => fieldOf(z.record(z.string(), z.string()).describe("Any."))).toThrow("A record needs keys that are known.");
  expect(() => fieldOf(z.union([z.string(), z.int()]).describe("Either."))).toThrow("type");
});
