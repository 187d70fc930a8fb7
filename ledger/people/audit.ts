import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";
import { DAY_MS, endOfDay } from "../../contract/days.ts";
import { lowestIdAt } from "../usage/request-id-time.ts";

/** Something that somebody did; the subject names what it was done to, and is never a secret. */
export interface Action {
  accountId: string | null;
  personId: string | null;
  /** Instead of a person: the management token that did it. */
  tokenId?: string | null;
  action: `${(typeof ACTION_CATEGORIES)[number]}.${string}`;
  subject: string;
}

export interface ListedAction {
  /** UUIDv7: holds the time. */
  id: string;
  /** Who: an email address, or a token's name. */
  by: string | null;
  action: string;
  subject: string;
}

/** What an account may do so often in 24 hours: each leaves a row here, and costs other processes and people something. */
const BOUNDED_ACTIONS = {
  key: {
    pattern: "key.%",
    max: ACCOUNT_BOUNDS.keyChangesADay,
    sentence: (max: number) =>
      `An account makes, changes and rotates keys at most ${max} times in 24 hours. Try again later; keys can still be disabled and deleted.`,
  },
  budget: {
    pattern: "account.budget\\_set",
    max: ACCOUNT_BOUNDS.budgetChangesADay,
    sentence: (max: number) =>
      `An account sets budgets at most ${max} times in 24 hours. Try again later; budgets can still be deleted.`,
  },
  webhook: {
    pattern: "account.webhook\\_%",
    max: ACCOUNT_BOUNDS.webhookChangesADay,
    sentence: (max: number) =>
      `An account sets its webhook and sends test events at most ${max} times in 24 hours. Try again later; the webhook can still be removed.`,
  },
} as const;

/**
 * Before a key, a budget or the webhook is made or changed, or a test event sent. Deleting and disabling need no leave:
 * whoever wants to stop something can.
 * @throws GatewayError `rate_limited` when the account's changes of the last 24 hours are as many as there may be.
 */
export async function admitChange(database: Queryable, of: keyof typeof BOUNDED_ACTIONS, accountId: string): Promise<void> {
  const { pattern, max, sentence } = BOUNDED_ACTIONS[of];
  const changes = await database.execute(
    "SELECT FROM audit_entry WHERE account_id = $1 AND id > $2 AND action LIKE $3 LIMIT $4",
    // An id holds the time at which it was made.
    [accountId, uuidv7({ msecs: Date.now() - DAY_MS }), pattern, max],
  );
  if (changes >= max) throw new GatewayError("rate_limited", sentence(max), { headers: { "retry-after": "3600" } });
}

export async function noteAction(
  database: Queryable,
  { accountId, personId, tokenId = null, action, subject }: Action,
): Promise<void> {
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, person_id, token_id, action, subject) VALUES ($1, $2, $3, $4, $5, $6)",
    [uuidv7(), accountId, personId, tokenId, action, subject],
  );
}

const BY = "coalesce(email, 'token ' || management_token.name) AS by";
const FROM = `FROM audit_entry LEFT JOIN person ON person.id = person_id
           LEFT JOIN management_token ON management_token.id = token_id`;

/**
 * What was done in an account, newest first.
 * @param beforeId goes on after the action of this id.
 */
export async function listActions(
  database: Queryable,
  { accountId, limit, beforeId }: { accountId: string; limit: number; beforeId?: string },
): Promise<ListedAction[]> {
  return database.query({
    text: `SELECT audit_entry.id, ${BY}, action, subject ${FROM}
           WHERE audit_entry.account_id = $1 AND ($2::uuid IS NULL OR audit_entry.id < $2) ORDER BY audit_entry.id DESC LIMIT $3`,
    values: [accountId, beforeId ?? null, limit],
    row: z.strictObject({ id: z.string(), by: z.string().nullable(), action: z.string(), subject: z.string() }),
  });
}

/** What a person did, in whatever account, newest first. @param beforeId goes on after the action of this id. */
export async function listOwnActions(
  database: Queryable,
  { personId, limit, beforeId }: { personId: string; limit: number; beforeId?: string | undefined },
): Promise<ListedAction[]> {
  return database.query({
    text: `SELECT audit_entry.id, account.name AS by, action, subject
           FROM audit_entry LEFT JOIN account ON account.id = audit_entry.account_id
           WHERE person_id = $1 AND ($2::uuid IS NULL OR audit_entry.id < $2) ORDER BY audit_entry.id DESC LIMIT $3`,
    values: [personId, beforeId ?? null, limit],
    row: z.strictObject({ id: z.string(), by: z.string().nullable(), action: z.string(), subject: z.string() }),
  });
}

export interface ListedActionOfAll extends ListedAction {
  /** null: it concerns no one account. */
  accountId: string | null;
}

/** What actions are about: the first word of each. */
export const ACTION_CATEGORIES = ["account", "code", "credit", "incident", "key", "ledger", "member", "person", "token"] as const;

/** Only what all of it names. */
export interface ActionFilter {
  accountId?: string | undefined;
  /** Email address of who did it. */
  person?: string | undefined;
  category?: (typeof ACTION_CATEGORIES)[number] | undefined;
  /** UTC days, both included. */
  fromDay?: string | undefined;
  toDay?: string | undefined;
}

/** The same in all accounts, for those who run the service. */
export async function listAllActions(
  database: Queryable,
  { filter, limit, beforeId }: { filter: ActionFilter; limit: number; beforeId?: string | undefined },
): Promise<ListedActionOfAll[]> {
  const { accountId, person, category, fromDay, toDay } = filter;
  return database.query({
    text: `SELECT audit_entry.id, audit_entry.account_id AS "accountId", ${BY}, action, subject ${FROM}
           WHERE ($1::text IS NULL OR audit_entry.account_id = $1) AND ($2::uuid IS NULL OR audit_entry.id < $2)
             AND ($3::text IS NULL OR person_id = (SELECT id FROM person WHERE lower(email) = lower($3)))
             AND ($4::text IS NULL OR split_part(action, '.', 1) = $4)
             AND ($5::uuid IS NULL OR audit_entry.id >= $5) AND ($6::uuid IS NULL OR audit_entry.id < $6)
           ORDER BY audit_entry.id DESC LIMIT $7`,
    values: [
      accountId ?? null,
      beforeId ?? null,
      person ?? null,
      category ?? null,
      fromDay === undefined ? null : lowestIdAt(Date.parse(fromDay)),
      toDay === undefined ? null : lowestIdAt(endOfDay(toDay).getTime()),
      limit,
    ],
    row: z.strictObject({
      id: z.string(),
      accountId: z.string().nullable(),
      by: z.string().nullable(),
      action: z.string(),
      subject: z.string(),
    }),
  });
}
