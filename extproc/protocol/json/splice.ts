import { itself, type Outline } from "./outline.ts";
import { insideObject, scanElements, type Member } from "./scan.ts";

/**
 * Computes a member's new value from its value as written (undefined if the object has no such member). Returning the same buffer
 * leaves the member alone; undefined removes it.
 */
export type MemberEdit = (value: Buffer | undefined) => Buffer | undefined;

/** Of an object's members, by name. */
export type MemberEdits = Readonly<Record<string, MemberEdit>>;

export type EditedValue = Buffer | "unchanged" | "removed";

/** Replacement bytes for a range, `end` excluded. */
export interface Cut {
  readonly start: number;
  readonly end: number;
  readonly bytes: Buffer | string;
}

/**
 * Edits members of a JSON object without touching any other byte: order, white space, big integers, escapes
 * and unknown members survive. Every duplicate of a name is edited; an absent one is asked for once and put
 * in front. The same buffer comes back where nothing changed, and where the text is no object.
 * @param outline of it, where it is known: members are looked for there.
 */
export function editMembers(json: Buffer, edits: MemberEdits, outline: Outline = itself(json)): Buffer {
  const { text, toOriginal } = outline;
  const inside = insideObject(text);
  if (inside === null) return json;
  const members = outline.members();
  const values = members.map(({ name, value }) => {
    const edit = Object.hasOwn(edits, name) ? edits[name] : undefined;
    return edit === undefined ? "unchanged" : editedValue(json.subarray(toOriginal(value.start), toOriginal(value.end)), edit);
  });
  const cuts = memberCuts({ members, values, added: addedMembers(members, edits), inside });
  return cuts.length === 0 ? json : applyCuts(json, cuts, toOriginal);
}

/** A member's value as it is written, the last one where there are several. @param outline of the text, as for editMembers. */
export function memberAsWritten(json: Buffer, name: string, outline: Outline = itself(json)): Buffer | undefined {
  const { toOriginal } = outline;
  const member = outline.members().findLast((candidate) => candidate.name === name);
  return member === undefined ? undefined : json.subarray(toOriginal(member.value.start), toOriginal(member.value.end));
}

interface EditedObject {
  readonly members: readonly Member[];
  /** One for each member. */
  readonly values: readonly EditedValue[];
  /** New members as `"name":value`. */
  readonly added: readonly string[];
  /** Offset after the opening brace. */
  readonly inside: number;
}

/** The edits of one object, in the order of their offsets. */
export function memberCuts({ members, values, added, inside }: EditedObject): Cut[] {
  const separator = values.some((value) => value !== "removed") ? "," : "";
  const insertions = added.length === 0 ? [] : [{ start: inside, end: inside, bytes: added.join(",") + separator }];
  return [...insertions, ...changes(members, values)];
}

/** @param cuts in the order of their offsets. */
export function applyCuts(json: Buffer, cuts: readonly Cut[], toOriginal: Outline["toOriginal"] = (at) => at): Buffer {
  const parts: Buffer[] = [];
  let at = 0;
  for (const { start, end, bytes } of cuts) {
    parts.push(json.subarray(at, toOriginal(start)), typeof bytes === "string" ? Buffer.from(bytes) : bytes);
    at = toOriginal(end);
  }
  parts.push(json.subarray(at));
  return Buffer.concat(parts);
}

/** An edit that writes this value, whatever the member held. */
export function write(value: unknown): MemberEdit {
  const bytes = Buffer.from(JSON.stringify(value));
  return (current) => (current !== undefined && current.equals(bytes) ? current : bytes);
}

/** Edits that write these values. */
export function writeAll(values: Readonly<Record<string, unknown>>): MemberEdits {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [name, write(value)]));
}

/** An edit that replaces an existing value and adds none. */
export function replace(value: unknown): MemberEdit {
  const edit = write(value);
  return (current) => (current === undefined ? undefined : edit(current));
}

/** An edit that removes the member. */
export function remove(): undefined {
  return undefined;
}

/** An edit of the members of the member's own value; null and other scalars are left unchanged. */
export function within(edits: MemberEdits): MemberEdit {
  return (current) => (current === undefined ? undefined : editMembers(current, edits));
}

/** The same, of a member that becomes an object if it is absent or null. */
export function withinObject(edits: MemberEdits): MemberEdit {
  return (current) => editMembers(current === undefined || current.equals(NULL) ? EMPTY_OBJECT : current, edits);
}

const NULL = Buffer.from("null");
const EMPTY_OBJECT = Buffer.from("{}");

/** Both; null for none. */
export function mergeEdits(some: MemberEdits | null, others: MemberEdits | null): MemberEdits | null {
  if (some === null || others === null) return some ?? others;
  return { ...some, ...others };
}

/** An edit of the objects in the member's array: the members of each by its position, null for one that is left unchanged. */
export function withinElements(edits: readonly (MemberEdits | null)[]): MemberEdit {
  return (current) =>
    current === undefined
      ? undefined
      : editElements(current, (element, position) => editMembers(element, edits[position] ?? NO_EDITS));
}

const NO_EDITS: MemberEdits = {};

/** An array with its elements edited; the same buffer where none changed. An element that is undefined is left out. */
export function editElements(array: Buffer, edit: (element: Buffer, position: number) => Buffer | undefined): Buffer {
  const elements = scanElements(array);
  const edited = elements.map((element, position) => edit(element, position));
  return edited.every((element, index) => element === elements[index])
    ? array
    : joinElements(edited.filter((element) => element !== undefined));
}

function joinElements(elements: readonly Buffer[]): Buffer {
  return Buffer.from(`[${elements.map((element) => element.toString("utf8")).join(",")}]`);
}

function addedMembers(members: readonly Member[], edits: MemberEdits): string[] {
  return Object.entries(edits).flatMap(([name, edit]) => {
    if (members.some((member) => member.name === name)) return [];
    const value = edit(undefined);
    return value === undefined ? [] : [`${JSON.stringify(name)}:${value.toString("utf8")}`];
  });
}

function changes(members: readonly Member[], values: readonly EditedValue[]): Cut[] {
  if (values.every((value) => value === "unchanged")) return [];
  const lastKept = values.findLastIndex((value) => value !== "removed");
  return members.flatMap((member, index): Cut[] => {
    const value = values[index] ?? "unchanged";
    if (value === "unchanged") return [];
    if (value !== "removed") return [{ ...member.value, bytes: value }];
    return [{ ...removedSpan(members, index, lastKept), bytes: "" }];
  });
}

function editedValue(current: Buffer, edit: MemberEdit): EditedValue {
  const next = edit(current);
  if (next === undefined) return "removed";
  return next === current ? "unchanged" : next;
}

/** A removed member takes one comma with it: the one after it, or, after the last member kept, the one before. */
function removedSpan(members: readonly Member[], index: number, lastKept: number): { start: number; end: number } {
  const { span } = members[index] ?? { span: { start: 0, end: 0 } };
  const next = members[index + 1]?.span.start;
  const previousEnd = members[index - 1]?.span.end;
  if (index > lastKept && previousEnd !== undefined) return { start: previousEnd, end: span.end };
  return { start: span.start, end: next ?? span.end };
}
