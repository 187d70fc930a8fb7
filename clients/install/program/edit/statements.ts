import { isDeepStrictEqual } from "node:util";
import { Refused } from "../refused.ts";
import { withoutKey } from "./key.ts";
import type { Editor } from "./editor.ts";
import { toLines, toText, withoutSpans, type Lines, type Span } from "./lines.ts";

/** The names of a text's statements, and the lines that they occupy. */
export interface Layout {
  /** Position of a statement; none if the text lacks it. */
  spansOf(name: string): readonly Span[];
  /** The statement as we would write it. */
  linesOf(name: string): readonly string[];
  /** The line before which a new statement is inserted, and the lines around it. */
  insertionPoint(name: string): { at: number; before?: readonly string[]; after?: readonly string[]; indent?: string };
  /** The indentation of an existing statement; undefined if it is scattered, and must be rewritten. */
  indentOf(name: string): string | undefined;
  /** Parts that are removed with a statement. */
  removedWith(name: string, old: Layout | undefined): readonly Span[];
  /** The meaning of the text without these statements. */
  valueWithout(names: readonly string[]): unknown;
}

export interface Grammar {
  /** @throws Refused if the text is invalid. */
  read(text: string, lines: Lines): Layout;
}

/** Edits formats of one statement per key: TOML, YAML, shell variables. */
export function createStatementEditor(grammar: Grammar): Editor {
  const read = (text: string): { lines: Lines; layout: Layout } => {
    const lines = toLines(text);
    return { lines, layout: grammar.read(text, lines) };
  };
  /** Whatever the edit did, the rest must keep its meaning. */
  function checked(before: string, after: string, names: readonly string[]): string {
    if (!isDeepStrictEqual(read(before).layout.valueWithout(names), read(after).layout.valueWithout(names)))
      throw new Refused("Its other settings would change.");
    return after;
  }
  return {
    apply(text, operations, key) {
      let edited = text;
      for (const { kind, path, value } of operations) {
        const name = path.join("/");
        const { lines, layout } = read(edited);
        const isThere = layout.spansOf(name).length > 0;
        if (isThere && kind !== "set") continue;
        const written = value.replaceAll("@key@", key).split("\n");
        if (isThere && plain(layout.linesOf(name)) === plain(written)) continue;
        const indent = isThere ? layout.indentOf(name) : undefined;
        if (indent === undefined) edited = toText(insert(read, toText(take(lines, layout.spansOf(name))), name, written));
        else edited = toText(replace(lines, layout.spansOf(name), indented(written, indent, lines)));
      }
      return checked(
        text,
        edited,
        operations.map(({ path }) => path.join("/")),
      );
    },
    revert(text, operations, before) {
      const old = before === undefined ? undefined : read(before).layout;
      let edited = text;
      for (const { path, value } of [...operations].reverse()) {
        const name = path.join("/");
        const { lines, layout } = read(edited);
        const current = layout.linesOf(name);
        if (layout.spansOf(name).length === 0 || plain(current) !== plain(value.split("\n"))) continue;
        const oldLines = old?.linesOf(name) ?? [];
        const spans = layout.spansOf(name);
        edited = toText(
          oldLines.length > 0 ? replace(lines, spans, oldLines) : take(lines, [...spans, ...layout.removedWith(name, old)]),
        );
      }
      return checked(
        text,
        edited,
        operations.map(({ path }) => path.join("/")),
      );
    },
  };
}

function replace(text: Lines, spans: readonly Span[], written: readonly string[]): Lines {
  const at = Math.min(...spans.map(({ from }) => from));
  return { ...text, lines: inserted(withoutSpans(text.lines, spans), at, written) };
}

function take(text: Lines, spans: readonly Span[]): Lines {
  return { ...text, lines: withoutSpans(text.lines, spans) };
}

function insert(
  read: (text: string) => { lines: Lines; layout: Layout },
  text: string,
  name: string,
  written: readonly string[],
): Lines {
  const { lines, layout } = read(text);
  const { at, before = [], after = [], indent = "" } = layout.insertionPoint(name);
  const added = [...indented(before, "", lines), ...indented(written, indent, lines), ...indented(after, "", lines)];
  return { lines: inserted(lines.lines, at, added), endsWithNewline: true };
}

function inserted(lines: readonly string[], at: number, added: readonly string[]): string[] {
  return [...lines.slice(0, at), ...added, ...lines.slice(at)];
}

function indented(lines: readonly string[], indent: string, text: Lines): string[] {
  const end = text.lines.length > 1 && text.lines[0]?.endsWith("\r") === true ? "\r" : "";
  return lines.map((line) => (line === "" ? end : indent + line + end));
}

function plain(lines: readonly string[]): string {
  return withoutKey(
    lines
      .map((line) => line.replaceAll(/\s+/g, " ").trim())
      .filter((line) => line !== "")
      .join("\n"),
  );
}
