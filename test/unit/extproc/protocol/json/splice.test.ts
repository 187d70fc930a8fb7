import * as fc from "fast-check";
import { describe, expect, test } from "vitest";
import { editMembers, remove, replace, within, write, type MemberEdit } from "../../../../../extproc/protocol/json/splice.ts";

function edit(json: string, edits: Record<string, MemberEdit>): string {
  return editMembers(Buffer.from(json), edits).toString("utf8");
}

describe("only the member changes", () => {
  test.for([
    ["a value", '{"model":"a","n":1}', { model: write("b") }, '{"model":"b","n":1}'],
    ["every duplicate", '{"model":"a","n":1,"model":"c"}', { model: write("b") }, '{"model":"b","n":1,"model":"b"}'],
    ["a name written with escapes", '{"mo\\u0064el":"a"}', { model: write("b") }, '{"mo\\u0064el":"b"}'],
    [
      "big integers, escapes, white space and order stay",
      ' { "z" : 12345678901234567890 ,\n"a":"\\u00e9\\"}",  "model": {"model":1}, "1":1.0e0 } ',
      { model: write(2) },
      ' { "z" : 12345678901234567890 ,\n"a":"\\u00e9\\"}",  "model": 2, "1":1.0e0 } ',
    ],
    ["an absent one goes in front", '{ "n":1}', { model: write("b") }, '{"model":"b", "n":1}'],
    ["into an empty object too", "{ }", { model: write("b") }, '{"model":"b" }'],
    ["replace adds nothing", '{"n":1}', { model: replace("b") }, '{"n":1}'],
    [
      "a nested member",
      '{"message":{"model":"a","x":"]}"},"model":"a"}',
      { message: within({ model: replace("b") }) },
      '{"message":{"model":"b","x":"]}"},"model":"a"}',
    ],
    ["null holds no members", '{"message":null}', { message: within({ model: write("b") }) }, '{"message":null}'],
    ["removed at the head", '{"usage":null, "a":1}', { usage: remove }, '{"a":1}'],
    ["removed at the end", '{"a":1 , "usage":{"x":[1,{}]} }', { usage: remove }, '{"a":1 }'],
    [
      "removed with all its duplicates",
      '{"usage":1,"a":1,"usage":2, "b":3 ,"usage":4,"usage":5}',
      { usage: remove },
      '{"a":1,"b":3}',
    ],
    ["removed alone", '{"usage":1}', { usage: remove }, "{}"],
    ["no object is left alone", '["model"]', { model: write("b") }, '["model"]'],
    [
      "prototype names are names",
      '{"__proto__":{"model":1},"constructor":2}',
      { model: write("b") },
      '{"model":"b","__proto__":{"model":1},"constructor":2}',
    ],
  ] as const)("%s", ([, json, edits, expected]) => {
    expect(edit(json, edits)).toBe(expected);
  });

  test("the same buffer is returned when nothing changes", () => {
    const json = Buffer.from('{"model":"b"}');
    expect(editMembers(json, { model: write("b"), other: replace(1) })).toBe(json);
  });
});

test("an edited object equals JSON.parse, an edit and JSON.stringify", () => {
  const names = fc.constantFrom("model", "usage", "x", "__proto__", 'q"\\', "é");
  // Quotes and backslashes near and far, around the length from which strings are searched in native code.
  const pieces = fc.constantFrom("x".repeat(61), "x".repeat(62), "x".repeat(63), "x".repeat(200), '"', "\\", '\\"', "\n", "},");
  const texts = fc.array(pieces, { maxLength: 12 }).map((parts) => parts.join(""));
  const entries = fc.array(fc.tuple(names, fc.oneof(fc.jsonValue(), texts, fc.array(texts))), { maxLength: 8 });
  const space = fc.constantFrom("", " ", "\n\t");
  fc.assert(
    fc.property(entries, space, (members, gap) => {
      const json = `${gap}{${members.map(([name, value]) => `${gap}${JSON.stringify(name)}${gap}:${gap}${JSON.stringify(value)}${gap}`).join(",")}}`;
      const expected = new Map(members);
      expected.delete("usage");
      expected.set("model", "new");
      const edited: unknown = JSON.parse(edit(json, { model: write("new"), usage: remove }));
      expect(new Map(Object.entries(Object(edited)))).toEqual(
        new Map([...expected].map(([name, value]) => [name, jsonOf(value)])),
      );
    }),
    { numRuns: 500 },
  );

  // JSON has no -0.
  function jsonOf(value: unknown): unknown {
    return JSON.parse(JSON.stringify(value));
  }
});

test("nesting of a million and a string of 64 MB are skipped in linear time", () => {
  const deep = "[".repeat(1_000_000) + "]".repeat(1_000_000);
  const long = '\\"'.repeat(32 * 1024 * 1024);
  const json = Buffer.from(`{"deep":${deep},"long":"${long}","model":"a"}`);
  const edited = editMembers(json, { model: write("b") });
  expect(edited.subarray(-12).toString()).toBe('"model":"b"}');
});
