import * as z from "zod";
import type { Database } from "../postgres/database.ts";
import { UNITS_BY_KIND } from "../usage/sums.ts";

/** One number that disagrees with its source. */
export interface Difference {
  check: keyof typeof CHECKS;
  /** Its subject: an account, a payment, or an account with its period, key and model. */
  subject: string;
  /** Computed from the authoritative rows; money in nano-USD. */
  expected: bigint;
  /** As stored. */
  found: bigint;
}

const ROLLED = [
  "requests",
  "input_tokens",
  "cached_input_tokens",
  "cache_write_tokens",
  "output_tokens",
  "searches",
  "images",
  "characters",
  "seconds",
  "charge_nano_usd",
];

/** A period's usage rows against its rollups; days whose usage rows were dropped keep their rollups, and are left out. */
function rollupCheck(table: string, period: string, { of: periodOf, from }: { of: string; from: string }): string {
  const sums = ROLLED.map((name) => (name === "requests" ? "count(*) AS requests" : `sum(${name})::bigint AS ${name}`));
  const pairs = ROLLED.map((name) => `('${name}', coalesce(truth.${name}, 0), coalesce(kept.${name}, 0))`);
  return `
    WITH truth AS (
      SELECT account_id, ${periodOf} AS ${period}, key_id, model, ${sums.join(", ")}
      FROM (SELECT *, ${UNITS_BY_KIND} FROM usage_event) AS event GROUP BY account_id, ${periodOf}, key_id, model
    ), kept AS (
      SELECT * FROM ${table} WHERE ${period} >= (SELECT ${from} FROM usage_event)
    )
    SELECT concat_ws(' ', account_id, ${period}, key_id, model, name) AS subject, expected::bigint AS expected, found::bigint AS found
    FROM truth FULL JOIN kept USING (account_id, ${period}, key_id, model)
    CROSS JOIN LATERAL (VALUES ${pairs.join(", ")}) AS pair (name, expected, found)
    WHERE expected <> found`;
}

const CHECKS = {
  balances: `
    SELECT account_id AS subject, coalesce(sum(amount_nano_usd), 0)::bigint AS expected, posted_nano_usd AS found
    FROM account_balance LEFT JOIN ledger_entry USING (account_id)
    GROUP BY account_id HAVING posted_nano_usd <> coalesce(sum(amount_nano_usd), 0)`,
  leases: `
    SELECT account_id AS subject, coalesce(sum(granted_nano_usd - settled_nano_usd), 0)::bigint AS expected, leased_nano_usd AS found
    FROM account_balance LEFT JOIN (SELECT * FROM credit_lease WHERE ended_at IS NULL) AS open USING (account_id)
    GROUP BY account_id HAVING leased_nano_usd <> coalesce(sum(granted_nano_usd - settled_nano_usd), 0)`,
  charges: `
    SELECT request_id || ' ' || attempt AS subject, charge_nano_usd AS expected, coalesce(-amount_nano_usd, 0) AS found
    FROM usage_event LEFT JOIN ledger_entry USING (request_id, attempt)
    WHERE charge_nano_usd <> coalesce(-amount_nano_usd, 0)`,
  codes: `
    WITH used AS (
      SELECT code_id::text AS id, account_id, amount_nano_usd AS amount
      FROM redeem_code_use JOIN redeem_code ON redeem_code.id = code_id
    ), entered AS (
      SELECT split_part(reference, ':', 2) AS id, account_id, sum(amount_nano_usd)::bigint AS amount
      FROM ledger_entry WHERE kind = 'code' GROUP BY 1, 2
    )
    SELECT concat_ws(' ', 'code:' || id, account_id) AS subject, coalesce(used.amount, 0) AS expected, coalesce(entered.amount, 0) AS found
    FROM used FULL JOIN entered USING (id, account_id) WHERE coalesce(used.amount, 0) <> coalesce(entered.amount, 0)`,
  // Money that arrived some other way is a grant: each of these entries has its payment.
  payments: `
    WITH entered AS (
      SELECT CASE WHEN starts_with(reference, 'payment:') THEN split_part(reference, ':', 2) ELSE reference END AS id,
        sum(amount_nano_usd)::bigint AS amount
      FROM ledger_entry WHERE kind IN ('topup', 'payment_refund', 'dispute') GROUP BY 1
    ), kept AS (
      SELECT id::text AS id, CASE WHEN paid_at IS NULL THEN 0 ELSE amount_nano_usd - refunded_nano_usd - disputed_nano_usd END AS amount
      FROM payment
    )
    SELECT 'payment:' || id AS subject, coalesce(kept.amount, 0) AS expected, coalesce(entered.amount, 0) AS found
    FROM kept FULL JOIN entered USING (id) WHERE coalesce(kept.amount, 0) <> coalesce(entered.amount, 0)`,
  hours: rollupCheck("usage_by_hour", "hour", { of: "usage_hour(request_id)", from: "min(day)::timestamp AT TIME ZONE 'UTC'" }),
  days: rollupCheck("usage_by_day", "day", { of: "day", from: "min(day)" }),
} as const;

const differenceRow = z.strictObject({ subject: z.string(), expected: z.bigint(), found: z.bigint() });
const WITHIN_MS = 600_000;

/**
 * Adds everything up again, in one snapshot concurrent with traffic.
 * @returns each number that differs; none, ever, unless there is a bug or somebody has changed data manually.
 */
export async function checkLedger(database: Database): Promise<Difference[]> {
  return database.transaction(
    async (transaction) => {
      const differences: Difference[] = [];
      for (const check of CHECK_NAMES) {
        const rows = await transaction.query({ text: CHECKS[check], row: differenceRow });
        differences.push(...rows.map((row) => ({ check, ...row })));
      }
      return differences;
    },
    { isolation: "repeatable read", isReadOnly: true, statementTimeoutMs: WITHIN_MS },
  );
}

/** The JSON form of a difference: whole numbers beyond what a JSON number can hold. */
export const storedDifference = z.strictObject({
  check: z.string(),
  subject: z.string(),
  expected: z.string(),
  found: z.string(),
});
export type StoredDifference = z.infer<typeof storedDifference>;

/** The other numbers are known to differ as well, but nobody reads this many. */
const MAX_STORED = 200;

export function storeDifferences(differences: readonly Difference[]): StoredDifference[] {
  return differences
    .slice(0, MAX_STORED)
    .map(({ check, subject, expected, found }) => ({ check, subject, expected: String(expected), found: String(found) }));
}

const CHECK_NAMES = [
  "balances",
  "leases",
  "charges",
  "codes",
  "payments",
  "hours",
  "days",
] as const satisfies readonly (keyof typeof CHECKS)[];
