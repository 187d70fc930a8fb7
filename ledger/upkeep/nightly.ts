import * as z from "zod";
import type { Logger } from "../../runtime/log.ts";
import { checkLedger, storeDifferences } from "./check.ts";
import type { Database } from "../postgres/database.ts";
import { expireGrants } from "../credit/grants.ts";
import { dropOldLabels, eraseRequestedLabels } from "../labels/upkeep.ts";
import { dropOldLimitUse } from "../leases/limits.ts";
import { trimWaitingRequests } from "../traces/waiting-requests.ts";
import { dropOldDeliveries } from "../webhooks/deliveries.ts";
import { dropExpired } from "../people/expired.ts";
import { startRounds, type Rounds } from "../../runtime/wait.ts";

export interface NightlyDeps {
  database: Database;
  /** Usage rows older than this many days are dropped; entries and rollups stay. null: kept indefinitely. */
  retentionDays: number | null;
  log: Logger;
  onChecked(differences: number): void;
  everyMs?: number;
}

/**
 * Expires grants when they are due, deletes labels that accounts want erased and requests that no longer wait for traces; once per
 * UTC day, in one of all processes, checks the ledger and drops expired data.
 */
export function startNightly({ database, retentionDays, log, onChecked, everyMs = 60_000 }: NightlyDeps): Rounds {
  async function turn(): Promise<void> {
    await expireGrants(database);
    await eraseRequestedLabels(database);
    await trimWaitingRequests(database);
    if (!(await claimToday(database))) return;
    const differences = await checkLedger(database);
    for (const difference of differences) log.error(toLine(difference), "ledger inconsistency found");
    await database.execute(
      "UPDATE ledger_check SET ended_at = now(), differences = $1, found = $2 WHERE day = (now() AT TIME ZONE 'UTC')::date",
      [differences.length, JSON.stringify(storeDifferences(differences))],
    );
    await dropOldLimitUse(database);
    await dropExpired(database);
    await dropOldDeliveries(database);
    if (retentionDays !== null) await dropUsage(database, retentionDays);
    await dropOldLabels(database, retentionDays);
  }

  async function round(): Promise<void> {
    try {
      await turn();
    } finally {
      await readLastCheck(database).then(onChecked, () => {});
    }
  }
  const onFailure = (error: unknown) => log.warn({ err: error }, "failed to check the ledger; retrying");
  return startRounds(round, { everyMs, onFailure });
}

/** A claim whose process died is taken over an hour later. */
async function claimToday(database: Database): Promise<boolean> {
  const claimed = await database.execute(
    `INSERT INTO ledger_check (day) VALUES ((now() AT TIME ZONE 'UTC')::date)
     ON CONFLICT (day) DO UPDATE SET started_at = now()
       WHERE ledger_check.ended_at IS NULL AND ledger_check.started_at < now() - interval '1 hour'`,
  );
  return claimed === 1;
}

async function readLastCheck(database: Database): Promise<number> {
  const [last] = await database.query({
    text: "SELECT differences FROM ledger_check WHERE ended_at IS NOT NULL ORDER BY day DESC LIMIT 1",
    row: z.strictObject({ differences: z.int() }),
  });
  return last?.differences ?? 0;
}

/**
 * Drops the usage rows of UTC days that ended more than `retentionDays` ago.
 * @returns how many days.
 */
export async function dropUsage(database: Database, retentionDays: number): Promise<number> {
  const [row] = await database.query({
    text: "SELECT drop_usage_before((now() AT TIME ZONE 'UTC')::date - $1::integer) AS dropped",
    values: [retentionDays],
    row: z.strictObject({ dropped: z.int() }),
  });
  return row?.dropped ?? 0;
}

function toLine({ check, subject, expected, found }: Awaited<ReturnType<typeof checkLedger>>[number]): object {
  return { check, subject, expected: String(expected), found: String(found) };
}
