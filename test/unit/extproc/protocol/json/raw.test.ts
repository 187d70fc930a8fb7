import * as fc from "fast-check";
import { expect, test } from "vitest";
import { encodeJson, RawJson } from "../../../../../extproc/protocol/json/raw.ts";
import { rawMember, scanElements } from "../../../../../extproc/protocol/json/scan.ts";

test("raw text is inserted unchanged, and everything else as JSON.stringify writes it", () => {
  const raw = new RawJson('{ "2":9223372036854775807, "1":1.0 }');
  expect(encodeJson({ a: [raw, null, "é\n"], skipped: undefined, b: true, c: -1.5 })).toBe(
    '{"a":[{ "2":9223372036854775807, "1":1.0 },null,"é\\n"],"b":true,"c":-1.5}',
  );
});

test("a lone surrogate in raw text survives as its escape", () => {
  const text = '{"a":"\ud83d!"}';
  const encoded = Buffer.from(encodeJson(new RawJson(text))).toString("utf8");
  expect(JSON.parse(encoded)).toEqual(JSON.parse(text));
});

test("members and elements are found as JSON.parse reads them", () => {
  fc.assert(
    fc.property(fc.array(fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 4 }), { maxLength: 5 }), (list) => {
      const elements = scanElements(Buffer.from(JSON.stringify(list)));
      const parsed: unknown[] = JSON.parse(JSON.stringify(list));
      expect(elements.map((element) => JSON.parse(element.toString("utf8")))).toEqual(parsed);
      for (const [index, element] of elements.entries()) {
        const values = Object.entries(Object(parsed[index])).map(
          ([name]) => rawMember(element, name)?.toString("utf8") ?? "null",
        );
        expect(values.map((value) => JSON.parse(value))).toEqual(Object.values(Object(parsed[index])));
      }
    }),
  );
});

test("invalid JSON makes the walk wrong, never endless", () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom("{", "}", "[", "]", '"', "\\", ",", ":", "a", " "), { maxLength: 40 }), (pieces) => {
      const bytes = Buffer.from(pieces.join(""));
      expect(scanElements(bytes).length).toBeLessThanOrEqual(bytes.length);
    }),
    { numRuns: 2000 },
  );
});
