import * as fc from "fast-check";
import { expect, test } from "vitest";
import { createElementStream } from "../../../../dashboard/batches/element-stream.ts";
import { rawMembers } from "../../../../dashboard/batches/raw-members.ts";

/** Lists of requests, split as they arrive (S58). */
function split(text: string, size = text.length): unknown[] {
  const stream = createElementStream({ maxElementBytes: 1_024 * 1_024 });
  const bytes = Buffer.from(text);
  const found: Buffer[] = [];
  for (let from = 0; from < bytes.length; from += Math.max(1, size))
    found.push(...stream.push(bytes.subarray(from, from + size)));
  stream.end();
  return found.map((element) => JSON.parse(element.toString("utf8")));
}

const objects = fc.array(fc.dictionary(fc.string(), fc.jsonValue()), { maxLength: 8 });

test("the elements are those that a parser of the whole would find, in whatever pieces they come", () => {
  fc.assert(
    fc.property(objects, fc.integer({ min: 1, max: 40 }), fc.constantFrom(0, 2), (requests, size, indent) => {
      const text = JSON.stringify({ requests }, null, indent);
      expect(split(text, size)).toEqual(JSON.parse(text).requests);
    }),
  );
});

test("whatever is no such list is refused", () => {
  fc.assert(
    fc.property(objects, fc.nat(), (requests, at) => {
      const text = JSON.stringify({ requests });
      expect(() => split(text.slice(0, at % text.length))).toThrow("must be JSON of the form");
    }),
  );
  for (const text of [
    "[]",
    "{}",
    '{"requests":[],}',
    '{"requests":[,]}',
    '{"requests":[{},]}',
    '{"requests":[{}]}}',
    `{"${"x".repeat(5_000)}`,
  ])
    expect(() => split(text), text.slice(0, 30)).toThrow("must be JSON of the form");
});

test("an element that is too long is refused before all of it is there", () => {
  const stream = createElementStream({ maxElementBytes: 1_024 * 1_024 });
  stream.push(Buffer.from('{"requests":[{"a":"'));
  const push = () => {
    for (let turn = 0; turn < 100; turn++) stream.push(Buffer.alloc(64 * 1024, "x"));
  };
  expect(push).toThrow("requests[0] is longer than 1 MiB");
});

test("members keep the text that they were written with", () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.constantFrom(0, 2), (object, indent) => {
      const text = JSON.stringify(object, null, indent);
      const members = [...rawMembers(text)].map(([name, member]) => [name, JSON.parse(member)]);
      expect(Object.fromEntries(members)).toEqual(JSON.parse(text));
    }),
  );
  expect([...rawMembers('{"a": 9007199254740993, "b":1.0,"a" :[1, {"a":2}]}')]).toEqual([
    ["a", '[1, {"a":2}]'],
    ["b", "1.0"],
  ]);
});
