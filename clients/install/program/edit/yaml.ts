import { isMap, isScalar, isSeq, LineCounter, parseDocument, type Document, type Node, type Pair, type YAMLSeq } from "yaml";
import { Refused } from "../refused.ts";
import { linesOf, type Lines, type Span } from "./lines.ts";
import type { Grammar, Layout } from "./statements.ts";

/** A statement is a key of the first level, or `key[name=item]` in a list. */
export const yamlGrammar: Grammar = {
  read(text, lines) {
    const counter = new LineCounter();
    const document = parseDocument(text, { lineCounter: counter });
    const [error] = document.errors;
    if (error !== undefined) {
      const [sentence = ""] = error.message.split("\n");
      throw new Refused(`It is not valid YAML: ${sentence.replace(/:$/, "")}.`);
    }
    if (document.contents !== null && (!isMap(document.contents) || document.contents.flow === true))
      throw new Refused("It is not written as lines of a name and a value.");
    return layoutOf({ text, lines, document, counter });
  },
};

interface Parsed {
  text: string;
  lines: Lines;
  document: Document;
  counter: LineCounter;
}

function layoutOf({ text, lines, document, counter }: Parsed): Layout {
  const pairs: readonly Pair[] = isMap(document.contents) ? document.contents.items : [];
  const lineAt = (offset: number): number => counter.linePos(offset).line - 1;
  /** From a start to the last text of a node: later comments and empty lines belong to no node. */
  const spanOf = (from: number, node: Node | undefined): Span => {
    const start = node?.range?.[0] ?? from;
    const end = node?.range?.[1] ?? from;
    const length = text.slice(from, Math.max(start, end)).trimEnd().length;
    return { from: lineAt(from), to: lineAt(from + Math.max(length - 1, 0)) };
  };
  const pairOf = (name: string): Pair | undefined => pairs.find(({ key }) => isScalar(key) && key.value === name);
  const pairSpan = ({ key, value }: Pair): Span =>
    spanOf(isNode(key) ? (key.range?.[0] ?? 0) : 0, isNode(value) ? value : undefined);

  function listOf(name: string): YAMLSeq | undefined {
    const value = pairOf(name)?.value;
    if (value === undefined || value === null || (isScalar(value) && value.value === null)) return undefined;
    if (isSeq(value) && value.flow !== true) return value;
    throw new Refused(`"${name}" is not written as a list of lines that begin with a dash.`);
  }

  function itemSpan(item: unknown): Span {
    if (!isNode(item)) return { from: 0, to: 0 };
    const span = spanOf(item.range?.[0] ?? 0, item);
    let { from } = span;
    while (from > 0 && !/^ *-(?: |$)/.test(lines.lines[from] ?? "")) from--;
    return { from, to: span.to };
  }

  const itemNamed = ({ list, item }: ItemName): unknown =>
    listOf(list)?.items.find((each) => isMap(each) && each.get("name") === item);

  function spansOf(name: string): Span[] {
    const itemName = toItemName(name);
    if (itemName !== undefined) {
      const item = itemNamed(itemName);
      return item === undefined ? [] : [itemSpan(item)];
    }
    const pair = pairOf(name);
    return pair === undefined ? [] : [pairSpan(pair)];
  }

  function itemIndent(list: string): string {
    const [first] = listOf(list)?.items ?? [];
    return first === undefined ? "  " : (/^ */.exec(lines.lines[itemSpan(first).from] ?? "")?.[0] ?? "");
  }

  return {
    spansOf,
    linesOf: (name) => spansOf(name).flatMap((span) => linesOf(lines, span)),
    indentOf(name) {
      const itemName = toItemName(name);
      return itemName === undefined ? "" : itemIndent(itemName.list);
    },
    insertionPoint(name) {
      const { length } = lines.lines;
      const itemName = toItemName(name);
      if (itemName === undefined) return { at: length };
      const pair = pairOf(itemName.list);
      if (pair === undefined) return { at: length, before: [`${itemName.list}:`], indent: "  " };
      return { at: pairSpan(pair).from + 1, indent: itemIndent(itemName.list) };
    },
    /** The list that was created for an item. */
    removedWith(name, old) {
      const itemName = toItemName(name);
      const pair = itemName === undefined ? undefined : pairOf(itemName.list);
      if (itemName === undefined || pair === undefined || (old?.spansOf(itemName.list).length ?? 0) > 0) return [];
      return (listOf(itemName.list)?.items.length ?? 0) > 1 ? [] : [pairSpan(pair)];
    },
    valueWithout: (names) => valueWithout(document, names),
  };
}

interface ItemName {
  list: string;
  item: string;
}

function toItemName(name: string): ItemName | undefined {
  const [, list, item] = /^(\w+)\[name=(.*)\]$/.exec(name) ?? [];
  return list === undefined || item === undefined ? undefined : { list, item };
}

function isNode(value: unknown): value is Node {
  return typeof value === "object" && value !== null && "range" in value;
}

function valueWithout(document: Document, names: readonly string[]): unknown {
  const value: unknown = document.toJS();
  if (typeof value !== "object" || value === null) return {};
  const entries = Object.entries(value).flatMap(([name, child]: [string, unknown]): [string, unknown][] => {
    if (names.includes(name)) return [];
    const items = names.map(toItemName).filter((each) => each?.list === name);
    if (items.length === 0) return [[name, child]];
    const list = Array.isArray(child) ? child : [];
    const kept = list.filter((each: unknown) => !items.some((item) => nameOf(each) === item?.item));
    return kept.length === 0 ? [] : [[name, kept]];
  });
  return Object.fromEntries(entries);
}

function nameOf(item: unknown): unknown {
  return typeof item === "object" && item !== null && "name" in item ? item.name : undefined;
}
