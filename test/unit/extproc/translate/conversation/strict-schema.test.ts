import { expect, test } from "vitest";
import { strictSchema } from "../../../../../extproc/translate/conversation/strict-schema.ts";
import { RawJson } from "../../../../../extproc/protocol/json/raw.ts";

const text = { type: "string" };
const closed = { type: "object", properties: { a: text }, required: ["a"], additionalProperties: false };
const open = { type: "object", properties: { a: text } };
/** An object whose only property has this schema. */
const holding = (schema: unknown) => ({ ...closed, properties: { a: schema } });

function strictForm(schema: unknown): unknown {
  const form = strictSchema(new RawJson(JSON.stringify(schema)), schema);
  return form === null ? null : JSON.parse(form.text);
}

test.for<[string, unknown]>([
  ["an object that is closed and requires all properties", closed],
  ["alternatives of which one is null", holding({ anyOf: [closed, { type: "null" }] })],
  ["a recursive definition", { ...holding({ $ref: "#/$defs/node" }), $defs: { node: holding({ $ref: "#/$defs/node" }) } }],
  [
    "properties with the names of keywords",
    { ...closed, properties: { properties: text, not: text, $ref: text }, required: ["properties", "not", "$ref"] },
  ],
  ["values that look like schemas", holding({ type: "string", enum: ["a"], description: "d", examples: [open] })],
  ["an optional text", holding({ type: ["string", "null"], minLength: 1, pattern: "a" })],
])("a strict schema can be %s", ([, schema]) => {
  expect(strictForm(schema)).toEqual(schema);
});

test.for<[string, unknown]>([
  ["an open object", open],
  ["an object that does not require a property", { ...closed, required: [] }],
  ["an open object inside a closed one", holding(open)],
  ["an open object in a list", holding({ anyOf: [closed, open] })],
  ["an open object or null", holding({ ...open, type: ["object", "null"] })],
  ["an open object among the definitions", { ...closed, $defs: { o: open } }],
  ["no object at the top", text],
  ["alternatives at the top", { ...closed, anyOf: [closed] }],
  ["a reference at the top", { $defs: { o: closed }, $ref: "#/$defs/o" }],
  ["a reference with a description", { ...holding({ $ref: "#/$defs/o", description: "d" }), $defs: { o: closed } }],
  ["a schema without a type", holding({ description: "anything" })],
  ["a list of anything", holding({ type: "array", items: {} })],
  ["a boolean as schema", holding({ type: "array", items: true })],
  ["listed objects without a type", holding({ enum: [{ a: 1 }] })],
  ["an empty list of values", holding({ enum: [] })],
  ["schemas that must all hold", holding({ allOf: [closed] })],
  ["schemas of which exactly one must hold", holding({ oneOf: [closed, text] })],
  ["unique elements", holding({ type: "array", items: text, uniqueItems: true })],
])("a strict schema can't be %s", ([, schema]) => {
  expect(strictForm(schema)).toBeNull();
});

test.for<[string, object, unknown]>([
  ["texts", { enum: ["a", "b"] }, "string"],
  ["a constant", { const: "a" }, "string"],
  ["numbers", { enum: [1, 2.5] }, "number"],
  ["a boolean", { const: false }, "boolean"],
  ["null", { const: null }, "null"],
  ["texts and null", { enum: ["a", null] }, ["string", "null"]],
])("the type of listed values follows from them: %s", ([, schema, type]) => {
  expect(strictForm(holding(schema))).toEqual(holding({ type, ...schema }));
});

test("a type is added without another change of the text", () => {
  const written = String.raw`{ "type":"object", "properties": {"\u0061": { "enum" : [ 1.0, 2 ] }, "b":{"const":"x"}},"required":["b","a"],"additionalProperties":false}`;
  expect(strictSchema(new RawJson(written), JSON.parse(written))?.text).toBe(
    String.raw`{ "type":"object", "properties": {"\u0061": {"type":"number", "enum" : [ 1.0, 2 ] }, "b":{"type":"string","const":"x"}},"required":["b","a"],"additionalProperties":false}`,
  );
});

const many = Array.from({ length: 200_000 }, () => text);
const members: Record<string, object> = Object.fromEntries(many.map((schema, at) => [`d${at}`, schema]));

test.for<[string, (last: object) => unknown]>([
  ["an array", (last) => holding({ anyOf: [...many, last] })],
  ["an object", (last) => ({ ...closed, $defs: Object.assign(members, { last }) })],
  ["nesting", (last) => holding(many.reduce<object>((items) => ({ type: "array", items }), last))],
])("%s longer than the stack is walked to its end", ([, around]) => {
  const raw = new RawJson("{}");
  expect(strictSchema(raw, around(closed))).toBe(raw);
  expect(strictSchema(raw, around(open))).toBeNull();
});
