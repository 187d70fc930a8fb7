import type { Database } from "../../../ledger/postgres/database.ts";
import { addMember, type Role } from "../../../ledger/people/members.ts";
import { signUp, type Person } from "../../../ledger/people/persons.ts";

export const PASSWORD = "correct horse battery";

/** A person with an account of their own, named after the part of their address before the @. */
export async function createPerson(database: Database, email: string): Promise<{ person: Person; accountId: string }> {
  return signUp(database, { email, name: email.replace(/@.*/, ""), password: PASSWORD });
}

/** A further member of this account. */
export async function createMember(
  database: Database,
  { accountId, email, role }: { accountId: string; email: string; role: Role },
): Promise<Person> {
  const { person } = await createPerson(database, email);
  await addMember(database, { accountId, personId: person.id, role });
  return person;
}
