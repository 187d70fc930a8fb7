import type { Queryable } from "../postgres/database.ts";
import { dropFactors } from "../sign-in/factors.ts";
import { revokeMadeThingsIn } from "./made-by.ts";
import { listMemberships } from "./members.ts";
import { endOtherSessions } from "../sign-in/sessions.ts";

/**
 * A person proved an address with which a stranger had signed up: the stranger's password and everything they created are revoked.
 */
export async function takeOver(transaction: Queryable, personId: string): Promise<void> {
  await transaction.execute("UPDATE person SET password_hash = NULL, email_verified_at = now() WHERE id = $1", [personId]);
  await endOtherSessions(transaction, { personId, id: null });
  await endWhatWasMade(transaction, personId);
}

/** Keys, tokens, invitations and second factors. */
export async function endWhatWasMade(transaction: Queryable, personId: string): Promise<void> {
  for (const { accountId } of await listMemberships(transaction, personId))
    await revokeMadeThingsIn(transaction, { accountId, personId, byPersonId: personId });
  await transaction.execute("DELETE FROM invitation WHERE invited_by = $1", [personId]);
  await dropFactors(transaction, personId);
}
