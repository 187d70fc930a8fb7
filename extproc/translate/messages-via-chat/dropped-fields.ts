import { GatewayError } from "../../../contract/errors.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { createFieldTable } from "../field-table.ts";
import type { CONTENT_POLICIES } from "./content-policy.ts";
import { FIELD_POLICIES } from "./policy.ts";

/** A name that `x-gateway-dropped` may carry for something that the tables say is left out, always or on some servers. */
type DroppableName = (typeof FIELD_POLICIES)[number]["field"] | (typeof CONTENT_POLICIES)[number]["field"];

/** Collects the names of what is left out, each once, in the order in which it was met. */
export interface DroppedFields {
  add(name: DroppableName): void;
  names(): readonly string[];
}

const TABLE = createFieldTable(FIELD_POLICIES);

/**
 * Starts with the top-level fields that the table drops, and with those that it does not know.
 * @throws GatewayError `invalid_request` for a field that the table refuses.
 */
export function createDroppedFields(request: JsonObject): DroppedFields {
  const { refused, dropped } = TABLE.judge(request);
  if (refused !== null) {
    const { field, note } = refused;
    throw new GatewayError("invalid_request", `\`${field}\` can't be used with this model: ${note}. Leave it out.`, { field });
  }
  const names = new Set(dropped);
  return {
    add: (name) => void names.add(name),
    names: () => [...names],
  };
}

/** Marks that a block of any type may carry. */
export function noteMarks(block: { cache_control?: unknown; citations?: unknown }, dropped: DroppedFields): void {
  const { cache_control: cacheControl, citations } = block;
  if (cacheControl !== undefined && cacheControl !== null) dropped.add("messages.content.cache_control");
  const isWish = isObject(citations) ? citations["enabled"] !== false : Array.isArray(citations) && citations.length > 0;
  if (isWish) dropped.add("messages.content.citations");
}
