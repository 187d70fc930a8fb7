import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** A destination that was disabled because it accepted nothing for days. */
export interface FailedDestination {
  id: string;
  name: string;
  url: string;
  accountId: string;
  accountName: string;
  /** Email addresses of the account's owners. */
  owners: string[];
}

/** Destinations whose owners have not been told yet; each is given once, to one of several callers. */
export async function claimFailedDestinations(database: Queryable): Promise<FailedDestination[]> {
  return database.query({
    text: `WITH claimed AS (
             UPDATE trace_destination SET is_mail_due = false WHERE is_mail_due RETURNING id, name, url, account_id
           )
           SELECT claimed.id, claimed.name, url, account_id AS "accountId", account.name AS "accountName", ARRAY(
             SELECT email FROM member JOIN person ON person.id = person_id
             WHERE member.account_id = claimed.account_id AND role = 'owner' ORDER BY email
           ) AS owners
           FROM claimed JOIN account ON account.id = account_id`,
    row: z.strictObject({
      id: z.string(),
      name: z.string(),
      url: z.string(),
      accountId: z.string(),
      accountName: z.string(),
      owners: z.array(z.string()),
    }),
  });
}

/** The letter failed: the next caller gets the destination again. */
export async function returnFailedDestination(database: Queryable, id: string): Promise<void> {
  await database.execute("UPDATE trace_destination SET is_mail_due = true WHERE id = $1 AND disabled_by = 'failures'", [id]);
}
