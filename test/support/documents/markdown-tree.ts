import type { Root } from "mdast";
import { fromMarkdown } from "mdast-util-from-markdown";
import { gfmFromMarkdown } from "mdast-util-gfm";
import { toString } from "mdast-util-to-string";
import { gfm } from "micromark-extension-gfm";

/** A page as GitHub reads it, tables included. */
export function parseMarkdown(text: string): Root {
  return fromMarkdown(text, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] });
}

/** The tables between a heading and the next one: rows without the head, cells as plain text. */
export function tablesBelow(text: string, heading: string): string[][][] {
  const { children } = parseMarkdown(text);
  const start = children.findIndex((node) => node.type === "heading" && toString(node) === heading);
  if (start < 0) throw new Error(`there is no heading "${heading}"`);
  const rest = children.slice(start + 1);
  const end = rest.findIndex((node) => node.type === "heading");
  return rest
    .slice(0, end < 0 ? rest.length : end)
    .flatMap((node) =>
      node.type === "table" ? [node.children.slice(1).map((row) => row.children.map((cell) => toString(cell)))] : [],
    );
}
