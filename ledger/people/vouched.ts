import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../database.ts";
import { addIdentity, findIdentity, hasIdentityAt, type Identity } from "./identities.ts";
import { findPerson, findPersonByEmail, type Person } from "./persons.ts";
import { endOtherSessions } from "./sessions.ts";

/** Somebody for whom a provider vouches. */
export interface Vouched {
  identity: Identity;
  /** null: there is none that the provider has verified. */
  email: string | null;
  name: string;
}

/**
 * Whom the provider means. Somebody who is here already by the address that it verified is linked on the way.
 * @returns undefined for somebody new.
 * @throws GatewayError `permission_denied` where the address is another's: of somebody who is another one there.
 */
export async function findVouched(
  database: Database,
  { identity, email }: Vouched,
): Promise<{ person: Person; isLinked: boolean } | undefined> {
  const known = await findByIdentity(database, identity);
  if (known !== undefined) return { person: known, isLinked: false };
  const person = email === null ? undefined : await findPersonByEmail(database, email);
  if (person === undefined) return undefined;
  await database.transaction((transaction) => link(transaction, person, identity));
  return { person: { ...person, hasPassword: false }, isLinked: true };
}

async function findByIdentity(database: Queryable, identity: Identity): Promise<Person | undefined> {
  const personId = await findIdentity(database, identity);
  return personId === undefined ? undefined : findPerson(database, personId);
}

/**
 * Nobody has checked the address of who signed up with a password. Like a reset by mail, the first proof of it ends what
 * went before: a stranger who signed up with somebody's address must not share what becomes theirs.
 */
async function link(transaction: Queryable, { id, email }: Person, identity: Identity): Promise<void> {
  // One at a time: two subjects of a provider that both claim the address.
  await transaction.execute("SELECT FROM person WHERE id = $1 FOR UPDATE", [id]);
  const isAnother = await hasIdentityAt(transaction, id, identity.issuer);
  if (isAnother || !(await addIdentity(transaction, id, identity))) throw addressOfAnother(email);
  await transaction.execute("UPDATE person SET password_hash = NULL WHERE id = $1", [id]);
  await transaction.execute("DELETE FROM password_reset WHERE person_id = $1", [id]);
  await endOtherSessions(transaction, { personId: id, id: null });
}

function addressOfAnother(email: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `${email} belongs to somebody here who signs in as another user of your provider. Ask the operator of this service.`,
  );
}
