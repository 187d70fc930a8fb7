import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import path from "node:path";
import fc from "fast-check";
import { afterAll, expect, test } from "vitest";

/** The JSON editor alone, with settings files that nobody has thought of. */
const folder = mkdtempSync(path.join(tmpdir(), "model-gateway-editor-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const PROGRAM = path.join(import.meta.dirname, "../../clients/install/json.awk");

function edit(mode: "apply" | "revert", text: string, ops: readonly (readonly [string, unknown])[], before = ""): string {
  const put = (name: string, content: string) => {
    writeFileSync(path.join(folder, name), content);
    return path.join(folder, name);
  };
  const env = {
    PATH: "/usr/bin:/bin",
    LC_ALL: "C",
    MG_MODE: mode,
    MG_COMMENTS: "1",
    MG_KEY: "sk-mg-x",
    MG_TEXT: put("text", `${text}\u0001\n`),
    MG_BEFORE: put("before", `${before}\u0001\n`),
    MG_OPS: put("ops", ops.map(([name, value]) => `set\t${name}\t${JSON.stringify(value)}\n`).join("")),
  };
  return execFileSync("awk", ["-f", PROGRAM], { env, encoding: "utf8", stdio: "pipe" });
}

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
const OPS = [
  ["env/A", "new"],
  ["provider/model-gateway", { url: "https://x/v1", models: { a: { n: [1, {}] } }, key: "@key@" }],
  ["model", "m"],
] as const;

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

test("the settings are set, all else is as it was, a second time changes nothing, and taking back restores every byte", () => {
  const isFit = (object: Record<string, unknown>) =>
    ["env", "provider"].every(
      (each) => !(each in object) || (typeof object[each] === "object" && object[each] !== null && !Array.isArray(object[each])),
    );
  fc.assert(
    fc.property(
      document.filter(({ object }) => isFit(object)),
      (each) => {
        const text = textOf(each);
        const written = edit("apply", text, OPS);
        expect(withoutComments(written)).toEqual({
          ...each.object,
          env: { ...Object(each.object["env"]), A: "new" },
          provider: { ...Object(each.object["provider"]), "model-gateway": { ...OPS[1][1], key: "sk-mg-x" } },
          model: "m",
        });
        expect(edit("apply", written, OPS)).toBe(written);
        expect(edit("revert", written, OPS, text)).toBe(text);
      },
    ),
    { numRuns: 150 },
  );
});

test("what is not JSON is refused, wherever it breaks off", () => {
  const text = '{"a": [1, {"b": "c"}], "env": {"A": null}}';
  for (let end = 1; end < text.length; end++)
    expect(() => edit("apply", text.slice(0, end), OPS), text.slice(0, end)).toThrow("It is not valid JSON");
});
