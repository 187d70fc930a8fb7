import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../postgres/database.ts";
import { isUniqueViolation } from "../postgres/postgres-error.ts";
import { noteAction } from "./audit.ts";
import type { Session } from "../sign-in/sessions.ts";
import { endOtherSessions } from "../sign-in/sessions.ts";

/**
 * Gives a person another address, which they have proved to be theirs. Links that were sent to the old one, and all other
 * sessions, end.
 * @param change.from the address at which they requested it.
 * @throws GatewayError `invalid_request` if somebody else has the new one; `not_found` if theirs has changed since.
 */
export async function changeEmail(
  database: Database,
  { session, from, to }: { session: Pick<Session, "id" | "personId">; from: string; to: string },
): Promise<void> {
  const { personId, id } = session;
  try {
    await database.transaction(async (transaction) => {
      const changed = await transaction.execute(
        "UPDATE person SET email = $3, email_verified_at = now() WHERE id = $1 AND lower(email) = lower($2)",
        [personId, from, to],
      );
      if (changed === 0)
        throw new GatewayError("not_found", "Your email address has changed since this link was sent. Request a new one.");
      await transaction.execute("DELETE FROM password_reset WHERE person_id = $1", [personId]);
      await endOtherSessions(transaction, { personId, id });
      await noteAction(transaction, { accountId: null, personId, action: "person.changed_email", subject: `${from} → ${to}` });
    });
  } catch (error) {
    if (!isUniqueViolation(error)) throw error;
    throw new GatewayError("invalid_request", "This address is already in use. Choose another one.", { cause: error });
  }
}
