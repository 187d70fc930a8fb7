import { GatewayError } from "../../contract/errors.ts";
import { isObject } from "../protocol/json/object.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";

/** What a request takes from earlier responses. */
export interface StoredNames {
  previousResponseId: string | null;
  /** Ids of items, with the fields that name them. */
  items: ReadonlyMap<string, string>;
}

const MAX_ITEMS = 1_000;
/** Nothing else is stored, so nothing else is looked up in the database. */
const ID_FORM = /^[\x21-\x7e]{1,256}$/;
/** For a value of another form, as the end of a sentence. */
export const ID_FORM_IN_WORDS = "ids have 1 to 256 characters of ASCII, without spaces";

export function isStorableId(id: unknown): id is string {
  return typeof id === "string" && ID_FORM.test(id);
}

/** @throws GatewayError `invalid_request` for invalid names, `not_found` for items that cannot be there. */
export function readStoredNames(body: RequestBody): StoredNames {
  const previous = body.member("previous_response_id") ?? null;
  if (previous !== null && typeof previous !== "string")
    throw invalid("previous_response_id", "must be the id of a response, or null.");
  // What it names is written into each.
  if (body.members().filter(({ name }) => name === "input").length > 1) throw invalid("input", "appears twice. Send it once.");
  const { input } = body.outline;
  const items = new Map<string, string>();
  for (const [index, item] of (Array.isArray(input) ? input : []).entries()) {
    if (!isReference(item)) continue;
    const field = `input[${index}].id`;
    const { id } = item;
    if (typeof id !== "string") throw invalid(field, "must be the id of an item.");
    // A long one is not in the outline.
    if (!isStorableId(id))
      throw new GatewayError("not_found", `\`${field}\` is the id of no item: ${ID_FORM_IN_WORDS}. Send the item itself.`, {
        field,
      });
    items.set(id, field);
  }
  if (items.size > MAX_ITEMS) throw invalid("input", `refers to more than ${MAX_ITEMS} stored items. Send some of them in full.`);
  return { previousResponseId: previous, items };
}

/** @throws GatewayError `invalid_request` if `store` is not a boolean. */
export function asksToStore(body: RequestBody): boolean {
  // The protocol's default.
  const store = body.outline["store"] ?? true;
  if (typeof store !== "boolean") throw invalid("store", "must be true or false.");
  return store;
}

/** A reference's type is optional. */
export function isReference(item: unknown): item is { readonly [name: string]: unknown } {
  if (!isObject(item)) return false;
  const { type, role } = item;
  return type === "item_reference" || ((type ?? null) === null && role === undefined && typeof item["id"] === "string");
}

function invalid(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
