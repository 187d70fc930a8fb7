import type { ActionName } from "../people/action-names.ts";
import { noteAction } from "../people/audit.ts";
import type { Queryable } from "../postgres/database.ts";
import type { EventType } from "../webhooks/event-types.ts";
import { queueKeyEvent } from "../webhooks/key-events.ts";

/** A person's or a token's action on a key. */
export interface KeyAction {
  accountId: string;
  personId: string | null;
  tokenId?: string | null;
  action: ActionName & `key.${string}`;
  publicId: string;
}

/** Actions that the account's webhooks are notified of. */
const EVENTS: { readonly [Action in ActionName]?: EventType & `key.${string}` } = {
  "key.created": "key.created",
  "key.rotated": "key.rotated",
  "key.disabled": "key.disabled",
  "key.enabled": "key.enabled",
  "key.deleted": "key.deleted",
};

/** Records it in the audit log, and for webhooks: call it in the transaction of the action. */
export async function noteKeyAction(
  transaction: Queryable,
  { accountId, personId, tokenId = null, action, publicId }: KeyAction,
): Promise<void> {
  await noteAction(transaction, { accountId, personId, tokenId, action, subject: publicId });
  const type = EVENTS[action];
  if (type !== undefined) await queueKeyEvent(transaction, type, { publicId, personId, tokenId });
}
