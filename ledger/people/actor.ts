import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { lockAccount } from "../accounts/lock-account.ts";
import type { Queryable } from "../postgres/database.ts";
import { readTokenRole } from "./management-tokens.ts";
import { roleColumn } from "./members.ts";
import { isAllowed, type Permission } from "./permissions.ts";

/** Who changes something in an account: a person or one of its management tokens; neither of them, where the service itself does. */
export interface Actor {
  accountId: string;
  personId: string | null;
  tokenId?: string | null;
}

/**
 * Whoever may change something is decided when their request comes. It may then wait for another change of the account, which may be
 * their own removal: call this once the account is locked (S56).
 * @throws GatewayError `permission_denied` if they have lost it since.
 */
export async function checkActor(
  transaction: Queryable,
  { personId, tokenId = null, accountId }: Actor,
  permission: Permission,
): Promise<void> {
  if (personId === null && tokenId === null) return;
  const role =
    personId === null ? await readTokenRole(transaction, tokenId) : await readRole(transaction, { accountId, personId });
  if (role === undefined || !isAllowed(role, permission))
    throw new GatewayError("permission_denied", "Your access to this account has ended or changed. Nothing was changed.");
}

/**
 * Locks the account for a change that is never limited: what deletes or ends something of it. @throws as `checkActor`.
 * @param transaction the one that notes the action.
 */
export async function lockForChange(transaction: Queryable, actor: Actor, permission: Permission): Promise<void> {
  await lockAccount(transaction, actor.accountId);
  await checkActor(transaction, actor, permission);
}

async function readRole(transaction: Queryable, { accountId, personId }: { accountId: string; personId: string }) {
  const [member] = await transaction.query({
    text: "SELECT role FROM member WHERE account_id = $1 AND person_id = $2",
    values: [accountId, personId],
    row: z.strictObject({ role: roleColumn }),
  });
  return member?.role;
}
