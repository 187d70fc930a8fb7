import { isPacked } from "./thought.ts";

/** Ids that output.ts gives to items: the request's, 32 hexadecimal digits, and the item's index. */
const OWN_ID = /^rs_[0-9a-f]{32}\d+$/;

/**
 * Is it a reference to reasoning? A model that stores no responses answers without it, as without reasoning that it cannot read.
 * SDKs send it beside calls that they send in full, because a missing `store` counts as true at OpenAI.
 */
export function isReasoningReference({ type, id }: { type: unknown; id: unknown }): boolean {
  return type === "item_reference" && typeof id === "string" && id.startsWith("rs_");
}

/** Did the gateway make this item of reasoning? If so, no server knows it. */
export function isGatewayItem({ id, encrypted }: { id: string; encrypted: string }): boolean {
  return isPacked(encrypted) || (encrypted === "" && OWN_ID.test(id));
}
