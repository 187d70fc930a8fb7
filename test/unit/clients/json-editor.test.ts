import fc from "fast-check";
import { expect, test } from "vitest";
import { editorOf } from "../../../clients/install/program/edit/editors.ts";
import type { Operation } from "../../../clients/operations.ts";

/** The JSON editor alone, with settings files that nobody has thought of. */
const editor = editorOf("jsonc");

const name = fc.constantFrom("env", "A", "provider", "models", "x y", 'quo"te', "back\\slash", "ünï", "");
const { value } = fc.letrec<{ value: unknown; object: Record<string, unknown> }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 4 },
    fc.string(),
    // JSON knows no -0.
    fc.double({ noNaN: true, noDefaultInfinity: true }).map((number) => number + 0),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 3 }),
    tie("object"),
  ),
  object: fc.dictionary(name, tie("value"), { maxKeys: 4 }),
}));
const document = fc.record({
  object: fc.dictionary(name, value, { maxKeys: 5 }),
  indent: fc.constantFrom<string | number>(0, 2, 4, "\t"),
  ending: fc.constantFrom("", "\n", "\n\n"),
  isCommented: fc.boolean(),
});
const PROVIDER = { url: "https://x/v1", models: { a: { n: [1, {}] } }, key: "@key@" };
const OPERATIONS: readonly Operation[] = [
  { kind: "set", path: ["env", "A"], value: JSON.stringify("new") },
  { kind: "set", path: ["provider", "model-gateway"], value: JSON.stringify(PROVIDER) },
  { kind: "set", path: ["model"], value: JSON.stringify("m") },
];

/** As people write: a comment after each line's end, where no string holds the end of a line. */
function textOf({
  object,
  indent,
  ending,
  isCommented,
}: {
  object: object;
  indent: string | number;
  ending: string;
  isCommented: boolean;
}): string {
  const text = JSON.stringify(object, null, indent) + ending;
  return isCommented ? text.replaceAll(/,\n/g, ', // a comment, with } and "\n') : text;
}

function withoutComments(text: string): unknown {
  return JSON.parse(text.replaceAll(/ \/\/ a comment, with \} and "$/gm, ""));
}

test("the settings are set, everything else is unchanged, a second run changes nothing, and undoing restores every byte", () => {
  const isFit = (object: Record<string, unknown>) =>
    ["env", "provider"].every(
      (each) => !(each in object) || (typeof object[each] === "object" && object[each] !== null && !Array.isArray(object[each])),
    );
  fc.assert(
    fc.property(
      document.filter(({ object }) => isFit(object)),
      (each) => {
        const text = textOf(each);
        const written = editor.apply(text, OPERATIONS, "sk-mg-x");
        expect(withoutComments(written)).toEqual({
          ...each.object,
          env: { ...Object(each.object["env"]), A: "new" },
          provider: { ...Object(each.object["provider"]), "model-gateway": { ...PROVIDER, key: "sk-mg-x" } },
          model: "m",
        });
        expect(editor.apply(written, OPERATIONS, "sk-mg-x")).toBe(written);
        expect(editor.revert(written, OPERATIONS, text)).toBe(text);
      },
    ),
    { numRuns: 1000 },
  );
});

test("invalid JSON is rejected, wherever it ends", () => {
  const text = '{"a": [1, {"b": "c"}], "env": {"A": null}}';
  for (let end = 1; end < text.length; end++)
    expect(() => editor.apply(text.slice(0, end), OPERATIONS, "sk-mg-x"), text.slice(0, end)).toThrow("It is not valid JSON");
});

test("a text nested deeper than the parser can follow is rejected", () => {
  expect(() => editor.apply(`{"a": ${"[".repeat(200_000)}`, OPERATIONS, "sk-mg-x")).toThrow("nested too deeply");
});

test("braces in strings do not count as depth", () => {
  const text = JSON.stringify({ allow: Array.from({ length: 500 }, () => "Bash({") });
  expect(JSON.parse(editor.apply(text, OPERATIONS, "sk-mg-x"))).toMatchObject({ model: "m" });
});
