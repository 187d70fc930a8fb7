import * as z from "zod";
import { IS_OPEN } from "../leases/leases.ts";
import { arrayText } from "../postgres/array-text.ts";
import type { Database, Queryable } from "../postgres/database.ts";
import { createPartitionsFor } from "../postgres/partitions.ts";
import { isCheckViolation } from "../postgres/postgres-error.ts";
import { SUMMED_COLUMNS, UNITS_BY_KIND } from "../usage/sums.ts";
import { labelColumns, landLabels } from "./settle-labels.ts";
import { LAND_PROVIDER_KEYS } from "./settle-provider-keys.ts";
import { QUEUE_TRACES } from "./settle-traces.ts";
import { lockSettledBalances, type SettledBalance } from "./settled-balances.ts";
import { SETTLEMENT_COLUMNS } from "./settlement-columns.ts";
import type { Settlement } from "./settlement.ts";

export interface SettleResult {
  /** Number settled by this call, excluding those settled before. */
  settled: number;
  /** Balance of each account in the batch, after it. */
  balances: ReadonlyMap<string, SettledBalance>;
  /** Not settled: others held the balances of their accounts. */
  left: readonly Settlement[];
}

export interface SettleOptions {
  /**
   * Settles what it can at once, instead of waiting for balances that others hold. If others hold other rows that it needs, it
   * throws a lock timeout, and settles nothing.
   */
  leavesHeld?: boolean;
}

/** The batch names an account that does not exist; none of it was settled. For a charged settlement, Postgres reports this itself. */
export class UnknownAccountError extends Error {
  constructor(accountIds: readonly string[]) {
    super(`There is no account ${accountIds.join(", ")}.`);
    this.name = "UnknownAccountError";
  }
}

/**
 * Records usage, appends entries and moves balances: all of a batch, or nothing. A settlement that was settled before moves
 * nothing, so a batch may be sent again if its outcome is unknown.
 * @throws UnknownAccountError; a Postgres error of class 22 or 23 if a row is not acceptable.
 */
export async function settle(
  database: Database,
  settlements: readonly Settlement[],
  options: SettleOptions = {},
): Promise<SettleResult> {
  if (settlements.length === 0) return { settled: 0, balances: new Map(), left: [] };
  const settleAll = () => database.transaction((transaction) => settleIn(transaction, settlements, options));
  try {
    return await settleAll();
  } catch (error) {
    // Postgres reports a missing partition as a violated check. Only the first settlements of a day encounter it, and another
    // writer may have created it in the meantime; any other violated check occurs again.
    if (!isCheckViolation(error)) throw error;
    await createPartitionsFor(
      database,
      settlements.map(({ requestId }) => requestId),
    );
    return settleAll();
  }
}

/**
 * Balances are locked first, in sorted order: from then on no other writer changes these accounts' money, leases and rollups.
 * Writers may wait for one another, but cannot deadlock.
 */
async function settleIn(
  transaction: Queryable,
  all: readonly Settlement[],
  { leavesHeld = false }: SettleOptions,
): Promise<SettleResult> {
  if (leavesHeld) await transaction.execute(`SET LOCAL lock_timeout = ${LOCK_TIMEOUT_MS}`);
  const balances = await lockBalances(transaction, new Set(all.map(({ accountId }) => accountId)), { leavesHeld });
  const left = leavesHeld ? all.filter(({ accountId }) => !balances.has(accountId)) : [];
  const settlements = left.length === 0 ? all : all.filter(({ accountId }) => balances.has(accountId));
  if (settlements.length === 0) return { settled: 0, balances, left };
  const values = SETTLEMENT_COLUMNS.map(({ read }) => arrayText(settlements.map(read)));
  const labels = labelColumns(settlements);
  const hasProviderKeys = settlements.some(({ providerKey }) => providerKey !== undefined);
  const landed = await transaction.query({
    ...landing(labels !== undefined, hasProviderKeys),
    values: [...values, ...(labels ?? [])],
    row: landedRow,
  });
  await markKeysUsed(transaction, settlements);
  let settled = 0;
  for (const row of landed) {
    settled += row.settled;
    if (row.postedNanoUsd !== null && row.version !== null)
      balances.set(row.accountId, { postedNanoUsd: row.postedNanoUsd, version: row.version });
  }
  return { settled, balances, left };
}

/** Other writers change an account's rows only while they hold its balance: a row that is locked without it is held by hand. */
const LOCK_TIMEOUT_MS = 250;

const names = SETTLEMENT_COLUMNS.map(({ name }) => name).join(", ");
const parameters = SETTLEMENT_COLUMNS.map(({ type }, index) => `$${index + 1}::${type}[]`).join(", ");

function rollUp(table: string, period: "day" | "hour", from: string): string {
  return `INSERT INTO ${table} AS rolled (account_id, ${period}, key_id, model, ${SUMMED_COLUMNS.join(", ")})
    SELECT account_id, ${period}, key_id, model, ${SUMMED_COLUMNS.map((name) => `sum(${name})`).join(", ")}
    FROM ${from} GROUP BY account_id, ${period}, key_id, model ORDER BY account_id, ${period}, key_id, model
    ON CONFLICT (account_id, ${period}, key_id, model) DO UPDATE SET
      ${SUMMED_COLUMNS.map((name) => `${name} = rolled.${name} + excluded.${name}`).join(", ")}`;
}

/**
 * One statement, in which each part sums the rows that the previous one inserted. New entries move money, not new usage rows:
 * usage is dropped after its retention time, entries never are. An open lease pays up to its remainder, which also lowers the
 * leased amount.
 */
const LAND = { name: "settle", text: land("") };

/** The same for batches with labels or provider keys, so that other batches do not pay for them. */
const LABELS = landLabels(SETTLEMENT_COLUMNS.length + 1);
const LAND_WITH_LABELS = { name: "settle-labels", text: land(LABELS) };
const LAND_WITH_PROVIDER_KEYS = { name: "settle-provider-keys", text: land(LAND_PROVIDER_KEYS) };
const LAND_WITH_BOTH = { name: "settle-labels-provider-keys", text: land(LABELS + LAND_PROVIDER_KEYS) };

function landing(hasLabels: boolean, hasProviderKeys: boolean): { name: string; text: string } {
  if (hasProviderKeys) return hasLabels ? LAND_WITH_BOTH : LAND_WITH_PROVIDER_KEYS;
  return hasLabels ? LAND_WITH_LABELS : LAND;
}

function land(further: string): string {
  return `
  WITH incoming AS (
    SELECT * FROM unnest(${parameters}) AS incoming (${names})
  ), fresh AS (
    INSERT INTO usage_event (day, ${names})
    SELECT usage_day(request_id), ${names} FROM incoming ORDER BY request_id, attempt
    ON CONFLICT DO NOTHING
    RETURNING *, ${UNITS_BY_KIND}
  ), entered AS (
    INSERT INTO ledger_entry (account_id, kind, amount_nano_usd, counter_account, request_id, attempt)
    SELECT account_id, 'usage', -charge_nano_usd, 'revenue', request_id, attempt
    FROM fresh WHERE charge_nano_usd > 0 ORDER BY request_id, attempt
    ON CONFLICT DO NOTHING
    RETURNING request_id, attempt, account_id, -amount_nano_usd AS charge
  ), hourly AS (
    SELECT account_id, min(day) AS day, usage_hour(request_id) AS hour, key_id, model, count(*) AS requests,
      ${SUMMED_COLUMNS.slice(1)
        .map((name) => `sum(${name}) AS ${name}`)
        .join(", ")}
    FROM fresh GROUP BY account_id, usage_hour(request_id), key_id, model
  ), rolled_hours AS (
    ${rollUp("usage_by_hour", "hour", "hourly")}
  ), rolled_days AS (
    ${rollUp("usage_by_day", "day", "hourly")}
  ), owed AS (
    SELECT lease_id, sum(charge) AS charge FROM entered JOIN fresh USING (request_id, attempt)
    WHERE lease_id IS NOT NULL GROUP BY lease_id
  ), payable AS (
    SELECT lease_id, least(charge, granted_nano_usd - settled_nano_usd) AS taken
    FROM credit_lease JOIN owed USING (lease_id) WHERE ${IS_OPEN}
  ), paid AS (
    UPDATE credit_lease SET settled_nano_usd = settled_nano_usd + taken
    FROM payable WHERE credit_lease.lease_id = payable.lease_id
    RETURNING account_id, taken
  ), moves AS (
    SELECT account_id, sum(charge)::bigint AS charge, coalesce(min(account_paid.taken), 0)::bigint AS taken
    FROM entered LEFT JOIN (SELECT account_id, sum(taken) AS taken FROM paid GROUP BY account_id) AS account_paid USING (account_id)
    GROUP BY account_id
  ), moved AS (
    UPDATE account_balance
    SET posted_nano_usd = posted_nano_usd - charge, leased_nano_usd = leased_nano_usd - taken, version = version + 1
    FROM moves WHERE account_balance.account_id = moves.account_id
    RETURNING account_balance.account_id, posted_nano_usd, version
  )${further}${QUEUE_TRACES}
  SELECT account_id AS "accountId", count(*)::integer AS settled, min(posted_nano_usd) AS "postedNanoUsd", min(version) AS version
  FROM fresh LEFT JOIN moved USING (account_id) GROUP BY account_id`;
}

const landedRow = z.strictObject({
  accountId: z.string(),
  settled: z.int(),
  postedNanoUsd: z.bigint().nullable(),
  version: z.bigint().nullable(),
});

async function lockBalances(
  transaction: Queryable,
  accountIds: ReadonlySet<string>,
  { leavesHeld }: { leavesHeld: boolean },
): Promise<Map<string, SettledBalance>> {
  const ids = [...accountIds];
  const balances = await lockSettledBalances(transaction, ids, { leavesHeld });
  const missing = ids.filter((id) => !balances.has(id));
  if (missing.length === 0) return balances;
  const known = leavesHeld
    ? await transaction.query({
        text: `SELECT account_id AS "accountId" FROM account_balance WHERE account_id = ANY($1)`,
        values: [missing],
        row: z.strictObject({ accountId: z.string() }),
      })
    : [];
  if (known.length < missing.length) {
    const held = new Set(known.map(({ accountId }) => accountId));
    throw new UnknownAccountError(missing.filter((id) => !held.has(id)));
  }
  return balances;
}

/** Rounded to the minute: most batches write nothing here. A key that another batch is marking needs no second mark. */
async function markKeysUsed(transaction: Queryable, settlements: readonly Settlement[]): Promise<void> {
  const usedAt = new Map<string, Date>();
  for (const { keyId, startedAt } of settlements) {
    const before = usedAt.get(keyId);
    if (before === undefined || before < startedAt) usedAt.set(keyId, startedAt);
  }
  await transaction.execute(
    `WITH stale AS (
       SELECT public_id, used_at FROM api_key JOIN unnest($1::text[], $2::timestamptz[]) AS used (key_id, used_at) ON public_id = key_id
       WHERE last_used_at IS NULL OR last_used_at < used_at - interval '1 minute'
       FOR NO KEY UPDATE OF api_key SKIP LOCKED
     )
     UPDATE api_key SET last_used_at = used_at FROM stale WHERE api_key.public_id = stale.public_id`,
    [[...usedAt.keys()], [...usedAt.values()]],
    "settle-keys",
  );
}
