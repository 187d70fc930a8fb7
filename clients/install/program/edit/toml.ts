import { getStaticTOMLValue, ParseError, parseTOML, type AST } from "toml-eslint-parser";
import { Refused } from "../refused.ts";
import { isBlank, linesOf, type Lines, type Span } from "./lines.ts";
import type { Grammar, Layout } from "./statements.ts";
import { without } from "./without.ts";

type Path = readonly string[];

/** A key and its value, with the names of the table that it is in. */
interface Entry {
  path: Path;
  table: AST.TOMLTable | undefined;
  node: AST.TOMLKeyValue;
}

/** A statement is a key of the first level, or `[a.table]`. */
export const tomlGrammar: Grammar = {
  read(text, lines) {
    const program = parse(text);
    const [top] = program.body;
    const tables = top.body.filter((node) => node.type === "TOMLTable");
    const entries = [
      ...top.body.filter((node) => node.type === "TOMLKeyValue").map((node) => entryOf(node, undefined)),
      ...tables.flatMap((table) => table.body.map((node) => entryOf(node, table))),
    ];
    return layoutOf({ text, lines, program, tables, entries });
  },
};

function parse(text: string): AST.TOMLProgram {
  try {
    return parseTOML(text);
  } catch (error) {
    if (error instanceof ParseError) throw new Refused(`It is not valid TOML: ${error.message} (line ${error.lineNumber}).`);
    throw error;
  }
}

function entryOf(node: AST.TOMLKeyValue, table: AST.TOMLTable | undefined): Entry {
  return { node, table, path: [...(table === undefined ? [] : namesOf(table.key)), ...namesOf(node.key)] };
}

function namesOf({ keys }: AST.TOMLKey): string[] {
  return keys.map((key) => (key.type === "TOMLBare" ? key.name : key.value));
}

interface Parsed {
  text: string;
  lines: Lines;
  program: AST.TOMLProgram;
  tables: readonly AST.TOMLTable[];
  entries: readonly Entry[];
}

function layoutOf({ text, lines, program, tables, entries }: Parsed): Layout {
  const tableAt = (path: Path): AST.TOMLTable | undefined =>
    tables.find((table) => table.kind === "standard" && isSame(namesOf(table.key), path));
  /** Keys elsewhere that define the table by dotted names or as an inline table. */
  const piecesOf = (path: Path): Entry[] =>
    entries.filter(
      (entry) => startsWith(entry.path, path) && !(entry.table !== undefined && startsWith(namesOf(entry.table.key), path)),
    );

  function spansOf(name: string): Span[] {
    const path = tablePath(name);
    if (path === undefined) return entries.filter((entry) => isSame(entry.path, [name])).map(({ node }) => spanOf(node));
    const [root = ""] = path;
    const isConflicting =
      tables.some((table) => table.kind === "array" && startsWith(path, namesOf(table.key))) ||
      entries.some((entry) => entry.path.length < path.length && startsWith(path, entry.path));
    if (isConflicting) throw new Refused(`"${root}" is not written as [${root}.…] tables.`);
    const table = tableAt(path);
    return table === undefined ? piecesOf(path).map(({ node }) => spanOf(node)) : [spanOf(table)];
  }

  return {
    spansOf,
    linesOf(name) {
      const path = tablePath(name);
      if (path === undefined || tableAt(path) !== undefined) return spansOf(name).flatMap((span) => linesOf(lines, span));
      const pieces = piecesOf(path);
      return pieces.length === 0 ? [] : [name, ...pieces.flatMap((piece) => asLines(piece, path, text))];
    },
    indentOf: (name) => {
      const path = tablePath(name);
      return path === undefined || tableAt(path) !== undefined ? "" : undefined;
    },
    insertionPoint(name) {
      const { length } = lines.lines;
      const isAfterText = length > 0 && !isBlank(lines.lines.at(-1));
      if (tablePath(name) !== undefined) return { at: length, before: isAfterText ? [""] : [] };
      const keys = entries.filter(({ table }) => table === undefined);
      const at = Math.max(-1, ...keys.map(({ node }) => spanOf(node).to)) + 1;
      return { at, after: /^[ \t]*\[/.test(lines.lines[at] ?? "") ? [""] : [] };
    },
    removedWith(name) {
      const [span] = spansOf(name);
      if (span === undefined) return [];
      const above = span.from - 1;
      if (tablePath(name) !== undefined && isBlank(lines.lines[above])) return [{ from: above, to: above }];
      const below = span.to + 1;
      return span.from === 0 && isBlank(lines.lines[below]) ? [{ from: below, to: below }] : [];
    },
    valueWithout: (names) =>
      without(
        getStaticTOMLValue(program),
        names.map((name) => tablePath(name) ?? [name]),
      ),
  };
}

/** Our own tables have plain names. */
function tablePath(name: string): Path | undefined {
  return name.startsWith("[") ? name.slice(1, -1).split(".") : undefined;
}

function spanOf({ loc }: AST.TOMLNode): Span {
  return { from: loc.start.line - 1, to: loc.end.line - 1 };
}

/** A key of a table that was defined elsewhere, as a line below the table's own header. */
function asLines({ node, path: { length } }: Entry, path: Path, text: string): string[] {
  const source = (range: readonly [number, number]): string[] => text.slice(...range).split("\n");
  const own = node.key.keys[node.key.keys.length - (length - path.length)];
  if (own !== undefined) return source([own.range[0], node.range[1]]);
  return node.value.type === "TOMLInlineTable" ? node.value.body.flatMap(({ range }) => source(range)) : [];
}

function isSame(path: Path, other: Path): boolean {
  return path.length === other.length && startsWith(path, other);
}

function startsWith(path: Path, start: Path): boolean {
  return path.length >= start.length && start.every((name, index) => path[index] === name);
}
