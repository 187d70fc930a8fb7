import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";
import { checkPersonName } from "../people/person-name.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { knownOrOther, type OrOther } from "../postgres/known-or-other.ts";

export interface NewAccount {
  /** Lower-case letters, digits and dashes, at most 63. */
  id: string;
  /** Shown to people. */
  name: string;
  /** How far below zero the balance may go; not at all if absent. */
  overdraftNanoUsd?: bigint;
}

type AccountStatus = "active" | "suspended";

export interface Account {
  id: string;
  name: string;
  /** Only an active account is served. */
  status: OrOther<AccountStatus>;
  createdAt: Date;
}

export interface Balance {
  /** Sum of the account's entries. */
  postedNanoUsd: bigint;
  leasedNanoUsd: bigint;
  overdraftNanoUsd: bigint;
}

const ID_FORM = /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/;

const accountRow = z.strictObject({
  id: z.string(),
  name: z.string(),
  status: knownOrOther(["active", "suspended"]),
  createdAt: z.date(),
});

const balanceRow = z.strictObject({ postedNanoUsd: z.bigint(), leasedNanoUsd: z.bigint(), overdraftNanoUsd: z.bigint() });

/**
 * Creates an account with an empty balance. An existing account of that id is left unchanged.
 * @returns isNew: whether this call created it.
 * @throws GatewayError `invalid_request` for an invalid id or name.
 */
export async function createAccount(database: Database, account: NewAccount): Promise<{ isNew: boolean }> {
  return database.transaction((transaction) => createAccountIn(transaction, account));
}

/** The same in the caller's transaction. */
export async function createAccountIn(
  transaction: Queryable,
  { id, name, overdraftNanoUsd = 0n }: NewAccount,
): Promise<{ isNew: boolean }> {
  if (!ID_FORM.test(id))
    throw new GatewayError(
      "invalid_request",
      "An account id has 1 to 63 lower-case letters, digits and dashes, and begins and ends with a letter or digit.",
      {
        field: "id",
      },
    );
  if (name === "") throw new GatewayError("invalid_request", "An account needs a name.", { field: "name" });

  const created = await transaction.execute("INSERT INTO account (id, name) VALUES ($1, $2) ON CONFLICT DO NOTHING", [id, name]);
  if (created === 0) return { isNew: false };
  await transaction.execute("INSERT INTO account_balance (account_id, overdraft_nano_usd) VALUES ($1, $2)", [
    id,
    overdraftNanoUsd,
  ]);
  return { isNew: true };
}

export async function findAccount(database: Queryable, id: string): Promise<Account | undefined> {
  const rows = await database.query({
    text: `SELECT id, name, status, created_at AS "createdAt" FROM account WHERE id = $1`,
    values: [id],
    row: accountRow,
  });
  return rows[0];
}

/**
 * Suspends all keys of an account, or reactivates them; its credit and members are unchanged.
 * @returns whether anything changed.
 */
export async function setAccountStatus(database: Queryable, id: string, status: AccountStatus): Promise<boolean> {
  const changed = await database.execute("UPDATE account SET status = $2 WHERE id = $1 AND status <> $2", [id, status]);
  // Operators serve the provider keys of active accounts.
  if (changed > 0) await database.execute("SELECT pg_notify('provider_key_changed', '')");
  return changed > 0;
}

/** @throws GatewayError `invalid_request` for an invalid name. */
export async function renameAccount(database: Queryable, id: string, name: string): Promise<void> {
  await database.execute("UPDATE account SET name = $2 WHERE id = $1", [id, checkPersonName(name)]);
}

/** @throws GatewayError `not_found` if there is no such account. */
export async function readBalance(database: Queryable, accountId: string): Promise<Balance> {
  const [balance] = await database.query({
    text: `SELECT posted_nano_usd AS "postedNanoUsd", leased_nano_usd AS "leasedNanoUsd", overdraft_nano_usd AS "overdraftNanoUsd"
           FROM account_balance WHERE account_id = $1`,
    values: [accountId],
    row: balanceRow,
  });
  if (balance === undefined) throw new GatewayError("not_found", `There is no account \`${accountId}\`.`, { field: "accountId" });
  return balance;
}
