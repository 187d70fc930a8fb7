import * as z from "zod";
import { expect, test } from "vitest";
import { sampleObject } from "../../../../local/simulator/schema-sample.ts";

const item: z.ZodType = z.object({
  name: z.string().min(30),
  get parts() {
    return z.array(item).optional();
  },
});

const schemas = {
  strings: z.object({
    plain: z.string(),
    long: z.string().min(50),
    short: z.string().max(4),
    id: z.uuid(),
    at: z.iso.datetime(),
    mail: z.email(),
  }),
  numbers: z.object({
    whole: z.int(),
    small: z.int().max(3),
    large: z.number().min(1000),
    step: z.number().multipleOf(5),
    above: z.number().gt(7),
  }),
  choices: z.object({
    one: z.enum(["a", "b"]),
    either: z.union([z.string(), z.number()]),
    maybe: z.string().nullable(),
    fixed: z.literal(7),
  }),
  nested: z.object({ list: z.array(z.object({ city: z.string() })).min(2), inner: z.object({ flag: z.boolean() }), item }),
  both: z.object({ all: z.intersection(z.object({ a: z.string() }), z.object({ b: z.int() })) }),
};

test.for(Object.entries(schemas))("arguments match the schema: %s", ([, schema]) => {
  expect(schema.safeParse(sampleObject(z.toJSONSchema(schema))).error).toBeUndefined();
});

test("an empty schema gives no arguments", () => {
  expect(sampleObject({})).toStrictEqual({});
  expect(sampleObject(undefined)).toStrictEqual({});
});

test("a schema that demands more than fits into memory gets a part of it", () => {
  const many = { type: "array", minItems: 1_000_000_000, items: { type: "array", minItems: 1_000_000_000 } };
  const sample = sampleObject({ type: "object", properties: { many, long: { type: "string", minLength: 1e15 } } });
  expect(JSON.stringify(sample).length).toBeLessThan(1_000_000);
});
