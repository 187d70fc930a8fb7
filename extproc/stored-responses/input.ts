import type { RequestBody } from "../protocol/json/request-body.ts";
import { rawMember, scanElements } from "../protocol/json/scan.ts";
import { isReference } from "./names.ts";

/** A turn of a conversation as it was stored. */
export interface OpenedTurn {
  /** Its request's own input, a list of items. */
  input: Buffer;
  response: Buffer;
}

/** References are short; nothing longer needs to be parsed. */
const MAX_REFERENCE_BYTES = 1024;
const ONE_MESSAGE = { before: Buffer.from('[{"role":"user","content":'), after: Buffer.from("}]") };
const EMPTY_STRING = 2;

/** The request's own input as a list of items; null if it is neither a list nor a text, which a translation refuses. */
export function ownInput(body: RequestBody): Buffer | null {
  const input = rawMember(body.bytes, "input");
  const outlined = body.outline["input"];
  if (input === undefined) return null;
  if (typeof outlined === "string" && input.length > EMPTY_STRING)
    return Buffer.concat([ONE_MESSAGE.before, input, ONE_MESSAGE.after]);
  return Array.isArray(outlined) ? input : null;
}

/** Ids that a list of items refers to. */
export function referencesIn(input: Buffer): string[] {
  return scanElements(input).flatMap((item) => referenceId(item) ?? []);
}

/** The items of all turns and then the request's own, with each reference replaced by its item. */
export function joinInput(turns: readonly OpenedTurn[], own: Buffer, items: ReadonlyMap<string, Buffer>): Buffer {
  const written = [
    ...turns.flatMap(({ input, response }) => [...scanElements(input), ...outputOf(response)]),
    ...scanElements(own),
  ];
  const resolved = written.map((item) => items.get(referenceId(item) ?? "") ?? item);
  return Buffer.concat([
    Buffer.from("["),
    ...resolved.flatMap((item, index) => (index === 0 ? [item] : [COMMA, item])),
    Buffer.from("]"),
  ]);
}

const COMMA = Buffer.from(",");

export function outputOf(response: Buffer): Buffer[] {
  const output = rawMember(response, "output");
  return output === undefined ? [] : scanElements(output);
}

/** A member that is a string; undefined if it is none. */
export function textMember(object: Buffer, name: string): string | undefined {
  const written = rawMember(object, name)?.toString("utf8");
  return written?.startsWith('"') === true ? String(JSON.parse(written)) : undefined;
}

function referenceId(item: Buffer): string | undefined {
  if (item.length > MAX_REFERENCE_BYTES) return undefined;
  const parsed: unknown = JSON.parse(item.toString("utf8"));
  return isReference(parsed) && typeof parsed["id"] === "string" ? parsed["id"] : undefined;
}
