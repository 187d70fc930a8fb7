import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** A person's identity at an OpenID Connect provider: an address may be reassigned, this never is. */
export interface Identity {
  issuer: string;
  subject: string;
}

/** @returns false if it already belongs to a person. */
export async function addIdentity(database: Queryable, personId: string, { issuer, subject }: Identity): Promise<boolean> {
  const added = await database.execute(
    "INSERT INTO person_identity (issuer, subject, person_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING",
    [issuer, subject, personId],
  );
  return added > 0;
}

/** @returns the person's id. */
export async function findIdentity(database: Queryable, { issuer, subject }: Identity): Promise<string | undefined> {
  const [found] = await database.query({
    text: `SELECT person_id AS "personId" FROM person_identity WHERE issuer = $1 AND subject = $2`,
    values: [issuer, subject],
    row: z.strictObject({ personId: z.string() }),
  });
  return found?.personId;
}

/** Whether this person has an identity at the provider, under any subject. */
export async function hasIdentityAt(database: Queryable, personId: string, issuer: string): Promise<boolean> {
  return (await database.execute("SELECT FROM person_identity WHERE person_id = $1 AND issuer = $2", [personId, issuer])) > 0;
}
