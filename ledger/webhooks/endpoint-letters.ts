import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** An endpoint that was disabled because it accepted nothing for days. */
export interface FailedEndpoint {
  id: string;
  url: string;
  accountId: string;
  accountName: string;
  /** Email addresses of the account's owners. */
  owners: string[];
}

/** Endpoints whose owners have not been told yet; each is given once, to one of several callers. */
export async function claimFailedEndpoints(database: Queryable): Promise<FailedEndpoint[]> {
  return database.query({
    text: `WITH claimed AS (UPDATE webhook_endpoint SET is_mail_due = false WHERE is_mail_due RETURNING id, url, account_id)
           SELECT claimed.id, url, account_id AS "accountId", account.name AS "accountName", ARRAY(
             SELECT email FROM member JOIN person ON person.id = person_id
             WHERE member.account_id = claimed.account_id AND role = 'owner' ORDER BY email
           ) AS owners
           FROM claimed JOIN account ON account.id = account_id`,
    row: z.strictObject({
      id: z.string(),
      url: z.string(),
      accountId: z.string(),
      accountName: z.string(),
      owners: z.array(z.string()),
    }),
  });
}

/** The letter failed: the next caller gets the endpoint again. */
export async function returnFailedEndpoint(database: Queryable, id: string): Promise<void> {
  await database.execute("UPDATE webhook_endpoint SET is_mail_due = true WHERE id = $1 AND disabled_by = 'failures'", [id]);
}
