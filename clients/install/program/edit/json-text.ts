import type { Node } from "jsonc-parser";

/** White space and comments, from an offset on. */
const TRIVIA = /(?:\s|\/\/[^\n]*|\/\*[\s\S]*?\*\/)*/y;

export function splice(text: string, { offset, length }: { offset: number; length: number }, replacement: string): string {
  return text.slice(0, offset) + replacement + text.slice(offset + length);
}

/** A value over several lines, indented like the line at `offset`. */
export function pretty(text: string, value: unknown, offset: number): string {
  return indented(text, value, indentAt(text, offset));
}

function indented(text: string, value: unknown, indent: string): string {
  return JSON.stringify(value, null, unitOf(text)).replaceAll("\n", eolOf(text) + indent);
}

/** Adds a last member. A comment after the previous one stays with it. */
export function insertMember(
  text: string,
  { parent, name, value }: { parent: Node; name: string | undefined; value: unknown },
): string {
  const close = parent.offset + parent.length - 1;
  const outer = indentAt(text, parent.offset);
  const [first] = parent.children ?? [];
  const last = parent.children?.at(-1);
  const isOnLines = first === undefined || startsLine(text, first.offset);
  const indent = first !== undefined && isOnLines ? indentAt(text, first.offset) : outer + unitOf(text);
  const member = (name === undefined ? "" : `${JSON.stringify(name)}: `) + indented(text, value, indent);
  const beforeClose = text.slice(0, close).trimEnd();
  if (last === undefined) return `${beforeClose}${eolOf(text)}${indent}${member}${eolOf(text)}${outer}${text.slice(close)}`;
  const end = last.offset + last.length;
  const hasTrailingComma = commaAfter(text, end) !== undefined;
  const head = text.slice(0, end) + (hasTrailingComma ? "" : ",") + text.slice(end, beforeClose.length);
  const between = isOnLines ? eolOf(text) + indent : " ";
  return head + between + member + (hasTrailingComma ? "," : "") + text.slice(beforeClose.length);
}

/** Removes a member with its comma, and its line if it has one to itself. */
export function removeMember(text: string, member: Node): string {
  const siblings = member.parent?.children ?? [];
  const index = siblings.indexOf(member);
  const end = member.offset + member.length;
  const comma = commaAfter(text, end);
  if (siblings.length === 1) {
    const head = text.slice(0, member.offset).trimEnd();
    return head + text.slice(comma === undefined ? end : comma + 1).trimStart();
  }
  if (comma !== undefined) {
    const [rest = ""] = /^[ \t\r]*(?:\n|$)/.exec(text.slice(comma + 1)) ?? [];
    if (rest !== "" && startsLine(text, member.offset))
      return text.slice(0, lineStart(text, member.offset)) + text.slice(comma + 1 + rest.length);
    return text.slice(0, member.offset) + text.slice(comma + 1).replace(/^ +/, "");
  }
  const previous = siblings[index - 1];
  if (previous === undefined) return text.slice(0, member.offset) + text.slice(end);
  const before = previous.offset + previous.length;
  const commaBefore = commaAfter(text, before) ?? before;
  const comments = text.slice(commaBefore + 1, member.offset).trimEnd();
  return text.slice(0, commaBefore) + comments + text.slice(end);
}

function commaAfter(text: string, offset: number): number | undefined {
  TRIVIA.lastIndex = offset;
  TRIVIA.exec(text);
  return text[TRIVIA.lastIndex] === "," ? TRIVIA.lastIndex : undefined;
}

function eolOf(text: string): string {
  return text.includes("\r\n") ? "\r\n" : "\n";
}

function unitOf(text: string): string {
  if (text.includes("\n\t")) return "\t";
  return /\n {4}["/]/.test(text) && !/\n {2}["/]/.test(text) ? "    " : "  ";
}

function lineStart(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

function indentAt(text: string, offset: number): string {
  return /^[ \t]*/.exec(text.slice(lineStart(text, offset), offset))?.[0] ?? "";
}

function startsLine(text: string, offset: number): boolean {
  const start = lineStart(text, offset);
  return start > 0 && text.slice(start, offset).trim() === "";
}
