import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isObject } from "../../../../../extproc/protocol/json/object.ts";
import { LONG_STRING_BYTES, outlineOf } from "../../../../../extproc/protocol/json/outline.ts";
import { parseBody } from "../../../../../extproc/protocol/json/parse-body.ts";
import { editMembers, remove, write } from "../../../../../extproc/protocol/json/splice.ts";

const read = (text: string | Buffer) => parseBody(Buffer.from(text), { headers: new Map(), interface: "chat" });
const long = "n".repeat(LONG_STRING_BYTES);

/** Strings around the length that is cut, full of what could be taken for their end. */
const pieces = fc.constantFrom('"', "\\", '\\"', "\\\\", "\n", "é", "🦊", "}", "]", ",", ":", "word ", "n".repeat(60), long);
const strings = fc.array(pieces, { maxLength: 24 }).map((parts) => parts.join(""));
/** Without quotes and backslashes: V8 13.6 takes a name with an escape for another one, seen before, that has a backslash. */
const names = fc.oneof(
  fc.constantFrom("model", "stream", "messages", "usage"),
  fc
    .array(fc.constantFrom("é", "🦊", "}", ",", ":", "word ", long), { minLength: 1, maxLength: 3 })
    .map((parts) => parts.join("")),
);
const values = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    strings,
    fc.constantFrom(null, true, 0, -1.5e300),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(names, tie("value"), { maxKeys: 4 }),
  ),
})).value;
const bodies = fc.array(fc.tuple(names, values), { maxLength: 6 });
/** Of several long names, which all become empty, the last one stays. */
const onceNamed = fc.uniqueArray(fc.tuple(names, values), { maxLength: 6, selector: ([name]) => name });

function textOf(members: readonly (readonly [string, unknown])[], gap: string): string {
  return `{${members.map(([name, value]) => `${gap}${JSON.stringify(name)}${gap}:${JSON.stringify(value, null, gap)}${gap}`).join(",")}}`;
}

/** What an outline should say, found the slow way. */
function emptied(value: unknown): unknown {
  if (typeof value === "string") return isLong(value) ? "" : value;
  if (Array.isArray(value)) return value.map(emptied);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, member]) => [isLong(name) ? "" : name, emptied(member)]));
}

function isLong(text: string): boolean {
  return Buffer.byteLength(JSON.stringify(text)) > LONG_STRING_BYTES;
}

test("an outline equals the text, except that long strings are empty", () => {
  fc.assert(
    fc.property(onceNamed, fc.constantFrom("", " ", "\n\t"), (members, gap) => {
      const text = textOf(members, gap);
      const body = read(text);
      const whole: unknown = JSON.parse(text);
      expect(body.outline).toEqual(emptied(whole));
      expect(body.whole()).toEqual(whole);
      const { model }: { model?: unknown } = Object(whole);
      expect(body.member("model")).toEqual(typeof model === "string" ? model : emptied(model));
    }),
    { numRuns: 1_000 },
  );
});

test("each byte of an outline is a byte of the text, at its position", () => {
  fc.assert(
    fc.property(bodies, fc.constantFrom("", " ", "\n\t"), (members, gap) => {
      const text = Buffer.from(textOf(members, gap));
      const outline = outlineOf(text);
      const positions = [...outline.text.keys()].map(outline.toOriginal);
      expect(Buffer.from(positions.map((position) => text[position] ?? 0))).toEqual(outline.text);
      expect(new Set(positions).size).toBe(positions.length);
      expect(positions).toEqual(positions.toSorted((one, other) => one - other));
    }),
    { numRuns: 1_000 },
  );
});

test("members are edited as they would be in the full text, byte for byte", () => {
  fc.assert(
    fc.property(bodies, fc.constantFrom("", " ", "\n\t"), (members, gap) => {
      const text = Buffer.from(textOf(members, gap));
      const seen: (string | undefined)[] = [];
      const edits = {
        model: write("new"),
        usage: remove,
        stream: (value: Buffer | undefined) => {
          seen.push(value?.toString());
          return value;
        },
      };
      const edited = read(text).edit(edits).toString();
      const [inOutline] = [seen.splice(0)];
      expect(edited).toBe(editMembers(text, edits).toString());
      expect(inOutline).toEqual(seen);
    }),
    { numRuns: 1_000 },
  );
});

test("text is rejected exactly where JSON.parse rejects it, whichever byte is broken", () => {
  const body = `{"model":"m","messages":[{"role":"user","content":"${long}"},{"a":[1,"${long}${long}",{"b":null}]}],"n":1}`;
  const breaking = fc.constantFrom('"', "\\", "{", "}", "[", "]", ",", ":", "n", "1", "");
  fc.assert(
    fc.property(fc.nat(body.length), breaking, fc.nat(1), (at, byte, instead) => {
      const text = body.slice(0, at) + byte + body.slice(at + instead);
      expect(isTaken(() => read(text).outline)).toBe(isTaken(() => JSON.parse(text)));
    }),
    { numRuns: 3_000 },
  );

  function isTaken(parse: () => unknown): boolean {
    try {
      return isObject(parse());
    } catch {
      return false;
    }
  }
});

describe("the content of a long string", () => {
  test("is not examined if it only passes", () => {
    const body = read(`{"model":"m","messages":[{"role":"user","content":"${long}\\q\t"}]}`);
    expect(body.outline).toEqual({ model: "m", messages: [{ role: "user", content: "" }] });
    expect(() => body.whole()).toThrow("The request body is not valid JSON near character");
  });

  test("is rejected for an unescaped line break, with its position", () => {
    const text = `{"model":"m","messages":[{"role":"user","content":"${long}\n${long}"}]}`;
    expect(() => read(text)).toThrow(`The request body is not valid JSON near character ${text.indexOf("\n")}.`);
    expect(read(JSON.stringify({ model: "m", messages: [long, long] }, null, 2)).outline).toEqual({
      model: "m",
      messages: ["", ""],
    });
  });

  test("is available to code that reads the member", () => {
    expect(read(JSON.stringify({ model: long })).member("model")).toBe(long);
    expect(read(JSON.stringify({ model: "", messages: long })).member("model")).toBe("");
  });
});

test("only a text that never ends its string is rejected for it", () => {
  expect(() => read(`{"model":"m","content":"${long}`)).toThrow("The request body is not valid JSON");
  expect(() => read(`{"model":"m","content":"${long}\\"`)).toThrow("The request body is not valid JSON");
  expect(() => read(`"${long}"`)).toThrow("It is JSON text inside a string: encode it once.");
});
