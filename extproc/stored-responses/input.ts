import { GatewayError } from "../../contract/errors.ts";
import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { REQUEST_BOUNDS } from "../protocol/json/bounds.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { rawMember, scanElements } from "../protocol/json/scan.ts";
import { isReference } from "./names.ts";

/** A stored turn of a conversation. */
export interface OpenedTurn {
  /** Its request's own input, a list of items. */
  input: Buffer;
  response: Buffer;
}

/** References are short; nothing longer needs to be parsed. */
export const MAX_REFERENCE_BYTES = 1_024;
const ONE_MESSAGE = { before: Buffer.from('[{"role":"user","content":'), after: Buffer.from("}]") };
const EMPTY_STRING = 2;

/** The request's own input as a list of items; null if it is neither a list nor a text, which a translation rejects. */
export function ownInput(body: RequestBody): Buffer | null {
  const input = rawMember(body.bytes, "input");
  const outlined = body.outline["input"];
  if (input === undefined) return null;
  if (typeof outlined === "string" && input.length > EMPTY_STRING)
    return Buffer.concat([ONE_MESSAGE.before, input, ONE_MESSAGE.after]);
  return Array.isArray(outlined) ? input : null;
}

/**
 * Ids that lists of items refer to, each once.
 * @throws GatewayError `request_too_large` for more items than one request may have.
 */
export function referencesIn(inputs: readonly Buffer[]): Set<string> {
  const ids = new Set<string>();
  for (const item of boundedItems(inputs.map((input) => () => scanElements(input)))) {
    const id = referenceId(item);
    if (id !== undefined) ids.add(id);
  }
  return ids;
}

export interface Conversation {
  turns: readonly OpenedTurn[];
  /** The request's own input. */
  own: Buffer;
  items: ReadonlyMap<string, Buffer>;
}

/**
 * The items of all turns and then the request's own, with each reference replaced by its item.
 * @param reserve makes room for the result before it is written, or throws. A reference of ten bytes may expand to an item of
 * megabytes, and be repeated.
 * @throws GatewayError `request_too_large` for input that would be rejected if the client had sent it in full.
 */
export function joinInput({ turns, own, items }: Conversation, reserve: (bytes: number) => void): Buffer {
  const lists = [
    ...turns.flatMap(({ input, response }) => [() => scanElements(input), () => outputOf(response)]),
    () => scanElements(own),
  ];
  const resolved = boundedItems(lists).map((item) => items.get(referenceId(item) ?? "") ?? item);
  const bytes = resolved.reduce((sum, item) => sum + item.length + COMMA.length, BRACKETS);
  if (bytes > MAX_REQUEST_BYTES) throw tooLarge("input");
  reserve(bytes);
  return Buffer.concat([
    Buffer.from("["),
    ...resolved.flatMap((item, index) => (index === 0 ? [item] : [COMMA, item])),
    Buffer.from("]"),
  ]);
}

const COMMA = Buffer.from(",");
const BRACKETS = 2;

/** Each list alone is within the limits of its request or answer; together they need not be. */
function boundedItems(lists: readonly (() => Buffer[])[]): Buffer[] {
  const items: Buffer[] = [];
  for (const list of lists) {
    for (const item of list()) items.push(item);
    if (items.length > REQUEST_BOUNDS.parts) throw tooLarge("input");
  }
  return items;
}

/** Responses of one conversation. */
export const MAX_TURNS = 500;

export function tooLarge(field: string): GatewayError {
  const most = `${MAX_TURNS} turns, ${MAX_REQUEST_BYTES / 1024 / 1024} MiB or ${REQUEST_BOUNDS.parts} items`;
  const message = `\`${field}\` refers to more than ${most} of stored responses. Shorten the conversation, and send it in \`input\`.`;
  return new GatewayError("request_too_large", message, { field });
}

export function outputOf(response: Buffer): Buffer[] {
  const output = rawMember(response, "output");
  return output === undefined ? [] : scanElements(output);
}

/** A member that is a string; undefined if it is not one. */
export function textMember(object: Buffer, name: string): string | undefined {
  const written = rawMember(object, name)?.toString("utf8");
  return written?.startsWith('"') === true ? String(JSON.parse(written)) : undefined;
}

function referenceId(item: Buffer): string | undefined {
  if (item.length > MAX_REFERENCE_BYTES) return undefined;
  const parsed: unknown = JSON.parse(item.toString("utf8"));
  return isReference(parsed) && typeof parsed["id"] === "string" ? parsed["id"] : undefined;
}
