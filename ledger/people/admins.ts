import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../postgres/database.ts";
import { noteAction } from "./audit.ts";
import { findPersonByEmail } from "./persons.ts";

/**
 * Grants somebody the right to see and change all accounts, or revokes it.
 * @returns whether anything changed.
 * @throws GatewayError `not_found` if nobody has signed up with this address.
 */
export async function setAdmin(
  database: Database,
  { email, isAdmin, byPersonId = null }: { email: string; isAdmin: boolean; byPersonId?: string | null },
): Promise<boolean> {
  return database.transaction(async (transaction) => {
    const person = await findPersonByEmail(transaction, email);
    if (person === undefined) throw new GatewayError("not_found", `Nobody has signed up as ${email}.`, { field: "email" });
    if (person.isAdmin === isAdmin) return false;
    await transaction.execute("UPDATE person SET is_admin = $2 WHERE id = $1", [person.id, isAdmin]);
    await noteAction(transaction, {
      accountId: null,
      personId: byPersonId,
      action: isAdmin ? "person.made_admin" : "person.unmade_admin",
      subject: person.email,
    });
    return true;
  });
}
