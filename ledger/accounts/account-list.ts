import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { knownOrOther } from "../postgres/known-or-other.ts";
import { cutPage } from "../postgres/page.ts";
import type { Account } from "./accounts.ts";

/** An account as operators of the service see it. */
export interface ListedAccount {
  id: string;
  name: string;
  status: Account["status"];
  createdAt: Date;
  /** When one of its keys was last used; null: never. */
  lastUsedAt: Date | null;
  postedNanoUsd: bigint;
  /** Reserved for running requests. */
  leasedNanoUsd: bigint;
  members: number;
  /** Excluding deleted ones. */
  keys: number;
  /** Of the last 30 UTC days, today included. */
  spentNanoUsd: bigint;
}

/** The sort column of a list; ties are broken by the account's id. "active": the last use or, without any, the creation. */
export const ACCOUNT_SORTS = ["active", "name", "spend", "balance", "lowest_balance", "newest"] as const;
export type AccountSort = (typeof ACCOUNT_SORTS)[number];

/** Position after the last row of a page: a name if sorted by name, otherwise an integer. */
export interface AccountPosition {
  rank: string;
  id: string;
}

export interface AccountListing {
  /** A part of an account's id or name, or of a member's address; case-insensitive. */
  search?: string | undefined;
  sort?: AccountSort | undefined;
  limit: number;
  after?: AccountPosition | undefined;
}

export interface AccountPage {
  accounts: ListedAccount[];
  /** Of the next page; null: this is the last one. */
  next: AccountPosition | null;
}

const accountRow = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: knownOrOther(["active", "suspended"]),
  createdAt: z.date(),
  lastUsedAt: z.date().nullable(),
  postedNanoUsd: z.bigint(),
  leasedNanoUsd: z.bigint(),
  members: z.int(),
  keys: z.int(),
  spentNanoUsd: z.bigint(),
  rank: z.string(),
});

const SINCE = "day > (now() AT TIME ZONE 'UTC')::date - 30";
/** In one pass: read for each account of a page by itself, it made the list ten times as slow with 100,000 accounts. */
const usedAt = (where = "") => `(SELECT account_id, max(last_used_at) AS used_at FROM api_key ${where} GROUP BY account_id)`;
/** The highest number first, but names in alphabetical order. */
const RANKS: Record<AccountSort, { rank: string; from: string }> = {
  active: {
    rank: "extract(epoch FROM coalesce(used_at, created_at)) * 1000000",
    from: `LEFT JOIN ${usedAt()} AS used ON used.account_id = account.id`,
  },
  // Its start: it is a part of the next page's address.
  name: { rank: "left(lower(name), 100)", from: "" },
  spend: {
    rank: "coalesce(spent, 0)",
    // Added up in one pass: if few accounts cause most usage, computing each account's sum separately is planned as a scan of
    // all.
    from: `LEFT JOIN (SELECT account_id, sum(charge_nano_usd) AS spent FROM usage_by_day WHERE ${SINCE} GROUP BY account_id)
             AS used ON used.account_id = account.id`,
  },
  balance: { rank: "posted_nano_usd", from: "" },
  lowest_balance: { rank: "-posted_nano_usd", from: "" },
  newest: { rank: "extract(epoch FROM created_at) * 1000000", from: "" },
};

/** Sums that the sort does not need are computed only for the page's accounts. */
export async function listAccounts(
  database: Queryable,
  { search = "", sort = "active", limit, after }: AccountListing,
): Promise<AccountPage> {
  const { rank, from } = RANKS[sort];
  const [type, order, isAfter] = sort === "name" ? ["text", "ASC", ">"] : ["bigint", "DESC", "<"];
  const rows = await database.query({
    text: `WITH ranked AS (
             SELECT account.*, posted_nano_usd, leased_nano_usd, (${rank})::${type} AS rank
             FROM account JOIN account_balance ON account_balance.account_id = account.id ${from}
             WHERE $1 = '' OR strpos(id, lower($1)) > 0 OR strpos(lower(name), lower($1)) > 0
               OR EXISTS (SELECT FROM member JOIN person ON person.id = person_id
                          WHERE member.account_id = account.id AND strpos(lower(email), lower($1)) > 0)
           ), page AS (
             SELECT * FROM ranked WHERE $2::${type} IS NULL OR rank ${isAfter} $2 OR (rank = $2 AND id > $3)
             ORDER BY rank ${order}, id LIMIT $4
           )
           SELECT id, name, status, created_at AS "createdAt", posted_nano_usd AS "postedNanoUsd", leased_nano_usd AS "leasedNanoUsd",
             used.used_at AS "lastUsedAt",
             (SELECT count(*)::int FROM member WHERE account_id = page.id) AS members,
             (SELECT count(*)::int FROM api_key WHERE account_id = page.id AND revoked_at IS NULL) AS keys,
             (SELECT coalesce(sum(charge_nano_usd), 0)::bigint FROM usage_by_day
              WHERE account_id = page.id AND ${SINCE}) AS "spentNanoUsd", rank::text
           FROM page LEFT JOIN ${usedAt("WHERE account_id IN (SELECT id FROM page)")} AS used ON used.account_id = page.id
           ORDER BY page.rank ${order}, id`,
    values: [search, after?.rank ?? null, after?.id ?? null, limit + 1],
    row: accountRow,
  });
  const { page, next } = cutPage(rows, limit, ({ rank, id }) => ({ rank, id }));
  return { accounts: page.map(({ rank: _rank, ...account }) => account), next };
}
