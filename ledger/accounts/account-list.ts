import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** An account as those who run the service see it. */
export interface ListedAccount {
  id: string;
  name: string;
  status: "active" | "suspended";
  createdAt: Date;
  postedNanoUsd: bigint;
  /** Set aside for requests that run now. */
  leasedNanoUsd: bigint;
  members: number;
  /** Without those that were deleted. */
  keys: number;
  /** Of the last 30 UTC days, today included. */
  spentNanoUsd: bigint;
}

export interface AccountListing {
  /** A part of an account's id or name, or of the address of somebody in it; without regard to case. */
  search?: string | undefined;
  limit: number;
  /** Goes on behind this account. */
  afterId?: string | undefined;
}

const accountRow = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: z.enum(["active", "suspended"]),
  createdAt: z.date(),
  postedNanoUsd: z.bigint(),
  leasedNanoUsd: z.bigint(),
  members: z.int(),
  keys: z.int(),
  spentNanoUsd: z.bigint(),
});

/** In the order of their ids. What is added up is added up for the page's accounts alone. */
export async function listAccounts(
  database: Queryable,
  { search = "", limit, afterId }: AccountListing,
): Promise<ListedAccount[]> {
  return database.query({
    text: `WITH page AS (
             SELECT * FROM account WHERE ($1 = '' OR strpos(id, lower($1)) > 0 OR strpos(lower(name), lower($1)) > 0
               OR EXISTS (SELECT FROM member JOIN person ON person.id = person_id
                          WHERE account_id = account.id AND strpos(lower(email), lower($1)) > 0))
               AND ($2::text IS NULL OR id > $2) ORDER BY id LIMIT $3
           )
           SELECT id, name, status, created_at AS "createdAt", posted_nano_usd AS "postedNanoUsd", leased_nano_usd AS "leasedNanoUsd",
             (SELECT count(*)::int FROM member WHERE account_id = page.id) AS members,
             (SELECT count(*)::int FROM api_key WHERE account_id = page.id AND revoked_at IS NULL) AS keys,
             (SELECT coalesce(sum(charge_nano_usd), 0)::bigint FROM usage_by_day
              WHERE account_id = page.id AND day > (now() AT TIME ZONE 'UTC')::date - 30) AS "spentNanoUsd"
           FROM page JOIN account_balance ON account_balance.account_id = id ORDER BY id`,
    values: [search, afterId ?? null, limit],
    row: accountRow,
  });
}
