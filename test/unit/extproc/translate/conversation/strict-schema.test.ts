import { expect, test } from "vitest";
import { isStrictSchema } from "../../../../../extproc/translate/conversation/strict-schema.ts";

const closed = { type: "object", properties: { a: { type: "string" } }, required: ["a"], additionalProperties: false };
const open = { type: "object", properties: { a: { type: "string" } } };

test.for<[string, unknown, boolean]>([
  ["an object that is closed and requires all properties", closed, true],
  ["an open object", open, false],
  ["an object that does not require a property", { ...closed, required: [] }, false],
  ["an open object inside a closed one", { ...closed, properties: { a: open } }, false],
  ["an open object in a list", { anyOf: [closed, open] }, false],
  ["no object", { type: "string" }, true],
])("%s", ([, schema, isStrict]) => {
  expect(isStrictSchema(schema)).toBe(isStrict);
});

const many = Array.from({ length: 200_000 }, () => ({}));
const members: Record<string, object> = Object.fromEntries(many.map((schema, at) => [`d${at}`, schema]));

test.for<[string, (last: object) => unknown]>([
  ["an array", (last) => ({ anyOf: [...many, last] })],
  ["an object", (last) => ({ $defs: Object.assign(members, { last }) })],
  ["nesting", (last) => many.reduce<object>((inner) => [inner], last)],
])("%s longer than the stack is walked to its end", ([, around]) => {
  expect(isStrictSchema(around(closed))).toBe(true);
  expect(isStrictSchema(around(open))).toBe(false);
});
