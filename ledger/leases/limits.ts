import * as z from "zod";
import { LIMIT_NAMES, LIMITS, type LimitKind, type Limits } from "../../contract/limits.ts";
import type { Database, Queryable } from "../postgres/database.ts";

/** Sets what a key may use, whole. @returns false when there is no such key. */
export async function setKeyLimits(database: Queryable, publicId: string, limits: Limits): Promise<boolean> {
  return (await database.execute("UPDATE api_key SET limits = $2 WHERE public_id = $1", [publicId, JSON.stringify(limits)])) > 0;
}

const KINDS_BY_MINUTE = LIMIT_NAMES.map((name) => LIMITS[name])
  .filter(({ period }) => period === "minute")
  .map(({ kind }) => kind);

/** What this process has used of one limit in one period: a count, or nano-USD. */
export interface LimitUse {
  /** `key:` or `account:` and the id. */
  subject: string;
  kind: LimitKind;
  /** Unix ms; 0 for what has no period. */
  periodStartMs: number;
  used: bigint;
}

/** What the other processes have done with a limit in its period. */
export interface OthersUse {
  used: bigint;
  /** How far they may go before they ask again, in sum; at least what they have used. */
  claimed: bigint;
  /** How many of them have told in this period, and are still there. */
  met: number;
}

export interface LimitClaims {
  uses: readonly LimitUse[];
  /**
   * Decides how far this process may go, for each use, while no other process can decide.
   * @param holders processes that have met within the last seconds, this one included.
   */
  claim(others: readonly OthersUse[], holders: number): readonly bigint[];
}

/** A process that has not been here for so long is gone: nothing of it runs any more, and it claims nothing. */
const GONE_AFTER = "interval '5 seconds'";
const KEPT_FOR = "interval '40 days'";
/** Any two numbers, as long as nothing else in this database locks the same. */
const LOCK = "SELECT pg_advisory_xact_lock(1835493482, 2)";

const othersRow = z.strictObject({ used: z.bigint(), claimed: z.bigint(), met: z.int() });

/**
 * Tells the other processes what this one has used, learns what they have, and claims a share of the rest. One process
 * at a time: two that decide on the same rest would both take it. Repeating it changes nothing.
 */
export async function claimLimits(database: Database, holder: string, { uses, claim }: LimitClaims): Promise<void> {
  const columns = [
    uses.map(({ subject }) => subject),
    uses.map(({ kind }) => kind),
    uses.map(({ periodStartMs }) => new Date(periodStartMs)),
  ];
  await database.transaction(async (transaction) => {
    await transaction.execute(LOCK);
    await transaction.execute(
      "INSERT INTO limit_holder VALUES ($1, clock_timestamp()) ON CONFLICT (holder) DO UPDATE SET seen_at = excluded.seen_at",
      [holder],
    );
    const [live] = await transaction.query({
      text: `SELECT count(*)::integer AS holders FROM limit_holder WHERE seen_at > clock_timestamp() - ${GONE_AFTER}`,
      row: z.strictObject({ holders: z.int() }),
    });
    const others = await transaction.query({
      text: `SELECT
               coalesce(sum(used) FILTER (WHERE mine.period_start > 'epoch' OR seen_at IS NOT NULL), 0)::bigint AS used,
               coalesce(sum(CASE WHEN seen_at IS NOT NULL THEN greatest(used, claimed) WHEN mine.period_start > 'epoch' THEN used END), 0)::bigint AS claimed,
               count(seen_at)::integer AS met
             FROM unnest($1::text[], $2::text[], $3::timestamptz[]) WITH ORDINALITY AS mine (subject, kind, period_start, position)
             LEFT JOIN limit_use AS theirs ON theirs.subject = mine.subject AND theirs.kind = mine.kind
               AND theirs.period_start = mine.period_start AND theirs.holder <> $4
             LEFT JOIN limit_holder ON limit_holder.holder = theirs.holder AND seen_at > clock_timestamp() - ${GONE_AFTER}
             GROUP BY position ORDER BY position`,
      values: [...columns, holder],
      row: othersRow,
    });
    const claimed = claim(others, live?.holders ?? 1);
    await transaction.execute(
      `INSERT INTO limit_use (subject, kind, period_start, used, claimed, holder)
       SELECT *, $6 FROM unnest($1::text[], $2::text[], $3::timestamptz[], $4::bigint[], $5::bigint[])
       ON CONFLICT (subject, kind, period_start, holder) DO UPDATE SET used = excluded.used, claimed = excluded.claimed`,
      [...columns, uses.map(({ used }) => used), [...claimed], holder],
    );
  });
}

/** Removes what no limit looks at any more. @returns how many rows. */
export async function dropOldLimitUse(database: Queryable): Promise<number> {
  const dropped = await database.execute(
    `DELETE FROM limit_use WHERE (kind = ANY($1) AND period_start < now() - interval '10 minutes')
       OR (period_start > 'epoch' AND period_start < now() - ${KEPT_FOR})
       OR (period_start = 'epoch' AND holder NOT IN (SELECT holder FROM limit_holder WHERE seen_at > now() - interval '1 hour'))`,
    [KINDS_BY_MINUTE],
  );
  await database.execute("DELETE FROM limit_holder WHERE seen_at < now() - interval '1 hour'");
  return dropped;
}
