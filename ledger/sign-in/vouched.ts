import { GatewayError } from "../../contract/errors.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { addIdentity, findIdentity, hasIdentityAt, type Identity } from "./identities.ts";
import { findPerson, findPersonByEmail, type Person } from "../people/persons.ts";
import { takeOver } from "../people/take-over.ts";

/** A person whose identity a provider confirms. */
export interface Vouched {
  identity: Identity;
  /** null if there is none that the provider has verified. */
  email: string | null;
  name: string;
}

/**
 * Finds the person whom the provider identifies. An existing person with the verified address is linked to the provider.
 * @param options.isAuthoritative addresses of this domain sign in only through this provider: a person who signed up with one
 *   in another way, and never confirmed it, loses everything that they created.
 * @returns undefined for a new person.
 * @throws GatewayError `permission_denied` if the address belongs to a person who has another identity at the provider, or who
 *   never confirmed the address here.
 */
export async function findVouched(
  database: Database,
  { identity, email }: Vouched,
  { isAuthoritative = false }: { isAuthoritative?: boolean } = {},
): Promise<{ person: Person; isLinked: boolean } | undefined> {
  const known = await findByIdentity(database, identity);
  if (known !== undefined) return { person: known, isLinked: false };
  const person = email === null ? undefined : await findPersonByEmail(database, email);
  if (person === undefined) return undefined;
  await database.transaction((transaction) => link(transaction, person, { identity, isAuthoritative }));
  return { person: (await findPerson(database, person.id)) ?? person, isLinked: true };
}

async function findByIdentity(database: Queryable, identity: Identity): Promise<Person | undefined> {
  const personId = await findIdentity(database, identity);
  return personId === undefined ? undefined : findPerson(database, personId);
}

/** A stranger may have signed up with the address, created keys, and now be waiting for its owner to add credit. */
async function link(
  transaction: Queryable,
  { id, email, isEmailVerified }: Person,
  { identity, isAuthoritative }: { identity: Identity; isAuthoritative: boolean },
): Promise<void> {
  if (!isEmailVerified && !isAuthoritative) throw neverProved(email);
  // One at a time: two subjects of a provider that both claim the address.
  await transaction.execute("SELECT FROM person WHERE id = $1 FOR UPDATE", [id]);
  const isAnother = await hasIdentityAt(transaction, id, identity.issuer);
  if (isAnother || !(await addIdentity(transaction, id, identity))) throw addressOfAnother(email);
  if (!isEmailVerified) await takeOver(transaction, id);
}

function neverProved(email: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `Somebody has signed up here as ${email} with a password, and has not confirmed the address yet. Choose a new password with the link that "Forgot your password?" sends you, then sign in this way again. If you did not sign up yourself, then review the account's keys, tokens and members, and delete those that are not yours. If the sign-in page has no such link, ask the operator of this service.`,
  );
}

function addressOfAnother(email: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `${email} belongs to a person who signs in as another user of your provider. Contact the operator of this service.`,
  );
}
