import { isPacked } from "./thought.ts";

/** Ids that output.ts gives to items: the request's, 32 hexadecimal digits, and the item's index. */
const OWN_ID = /^rs_[0-9a-f]{32}\d+$/;

/** Did the gateway make this item of reasoning? If so, no server knows it. */
export function isGatewayItem({ id, encrypted }: { id: string; encrypted: string }): boolean {
  return isPacked(encrypted) || (encrypted === "" && OWN_ID.test(id));
}
