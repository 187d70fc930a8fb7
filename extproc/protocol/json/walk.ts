import { decodeName, skipSpace, skipString, skipValue, type Member } from "./scan.ts";

const COMMA = 44;
const OPEN_BRACKET = 91;
const CLOSE_BRACKET = 93;
const OPEN_BRACE = 123;
const CLOSE_BRACE = 125;

export interface WalkedMember extends Member {
  /** Number of its value's elements, if the value is an array that was walked; 0 otherwise. */
  readonly elements: number;
}

/** An object inside a JSON text. */
export interface WalkedObject<Position> {
  readonly position: Position;
  /** Offset of its opening brace. */
  readonly start: number;
  /** In order, with offsets into the whole text. */
  readonly members: readonly WalkedMember[];
}

interface Container<Position> extends WalkedObject<Position> {
  readonly parent: Container<Position> | undefined;
  readonly isObject: boolean;
  readonly members: WalkedMember[];
  /** Elements of an array so far. */
  count: number;
  /** The member whose value is being walked. */
  name: { text: string; start: number; valueStart: number };
}

/**
 * Visits nested objects in one pass over valid JSON, inner ones first, without recursion: nesting may be deeper than the stack.
 * @param enter the position of a container below another one, by its name or index; null skips it with everything inside.
 */
export function walkObjects<Position>(
  json: Buffer,
  root: Position,
  enter: (parent: Position, step: string | number) => Position | null,
): WalkedObject<Position>[] {
  const found: WalkedObject<Position>[] = [];
  let at = skipSpace(json, 0);
  if (!opensContainer(json[at])) return found;
  let open: Container<Position> | undefined = container(json, at, root);
  at = skipSpace(json, at + 1);
  while (open !== undefined && at < json.length) {
    const byte = json[at];
    if (byte === CLOSE_BRACE || byte === CLOSE_BRACKET) {
      at += 1;
      if (open.isObject) found.push(open);
      const { isObject, count } = open;
      open = open.parent;
      if (open !== undefined) finishMember(open, at, isObject ? 0 : count);
    } else if (byte === COMMA) at += 1;
    else {
      const step = readStep(json, at, open);
      at = open.isObject ? open.name.valueStart : at;
      const position = opensContainer(json[at]) ? enter(open.position, step) : null;
      if (position === null) {
        // A value of zero bytes is not JSON: stepping over it keeps the walk finite.
        at = Math.max(skipValue(json, at), at + 1);
        finishMember(open, at);
      } else {
        open = container(json, at, position, open);
        at += 1;
      }
    }
    at = skipSpace(json, at);
  }
  return found;
}

function readStep<Position>(json: Buffer, at: number, open: Container<Position>): string | number {
  if (!open.isObject) {
    open.count += 1;
    return open.count - 1;
  }
  const nameEnd = skipString(json, at);
  const text = decodeName(json, at, nameEnd);
  open.name = { text, start: at, valueStart: skipSpace(json, skipSpace(json, nameEnd) + 1) };
  return text;
}

function finishMember<Position>({ isObject, members, name }: Container<Position>, end: number, elements = 0): void {
  if (!isObject) return;
  members.push({ name: name.text, span: { start: name.start, end }, value: { start: name.valueStart, end }, elements });
}

function container<Position>(json: Buffer, start: number, position: Position, parent?: Container<Position>): Container<Position> {
  const name = { text: "", start, valueStart: start };
  return { parent, isObject: json[start] === OPEN_BRACE, position, start, members: [], count: 0, name };
}

function opensContainer(byte: number | undefined): boolean {
  return byte === OPEN_BRACE || byte === OPEN_BRACKET;
}
