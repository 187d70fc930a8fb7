import * as z from "zod";
import type { LimitKind } from "../../contract/limits.ts";
import type { Database } from "../postgres/database.ts";
import { seenWithin } from "./seen-within.ts";

/** One process's report about one limit in one period. */
export interface LimitUse {
  /** `key:` or `account:` and the id. */
  subject: string;
  kind: LimitKind;
  /** Unix ms; 0 for limits without a period. */
  periodStartMs: number;
  /** A count, or nano-USD, as all amounts here. */
  limit: bigint;
  /** Used since the last turn that counted; below zero if requests did not run after all. 0n for limits without a period. */
  added: bigint;
  /** By requests that run now: their number for limits without a period, what they may cost for limits on spending. */
  running: bigint;
  /** The amount that this process may still use before it receives the answer. */
  unused: bigint;
  /** The maximum it wants: an idle process leaves more to others. */
  most: bigint;
  /** The value that this process's last turn in the period left in the row, which this turn replaces; null for its first. */
  last: LimitMark | null;
  /** The period has just begun, and processes that have not reported in it yet may use their even share. */
  isNew: boolean;
}

export interface LimitMark {
  term: bigint;
  reserved: bigint;
  running: bigint;
}

export interface LimitGrant {
  /** How much this process may use beyond what it has reported. */
  grantedUse: bigint;
  /** By all processes, including this one and what runs. */
  used: bigint;
  /** Of it, by requests that run. */
  running: bigint;
  term: bigint;
}

interface TurnResult {
  /** For each use, in order. undefined: the turn had counted before, and its grant is unknown. */
  grants: readonly (LimitGrant | undefined)[];
  /** Processes that share limits, including this one. */
  processes: number;
}

export interface LimitTurns {
  /**
   * Reports usage and reserves a share of the rest. After an error it is unknown whether it counted: `resolve` determines that.
   */
  take(uses: readonly LimitUse[]): Promise<TurnResult>;
  /** Whether the turn that failed last has counted; if it has not, it cannot count any more. */
  resolve(): Promise<boolean>;
}

/** A process that has not reported for this long no longer exists. */
const IS_THERE = seenWithin("5 seconds");
/** Reservations of a dead process expire within two terms. A live one reports once in a term. */
const TERM_MS = 15_000;
export const RUNNING_TERM_MS = 10_000;

const grantRow = z.strictObject({
  processes: z.int(),
  position: z.int().nullable(),
  grantedUse: z.bigint().nullable(),
  used: z.bigint().nullable(),
  running: z.bigint().nullable(),
  term: z.bigint().nullable(),
});

/**
 * One statement, without a lock that all processes share. Rows are locked in order, so two turns never deadlock, and everything
 * is computed from locked rows: no two processes reserve the same rest.
 *
 * It commits without waiting for the disk, as others wait for its rows. What a crash of Postgres may lose of it was reserved by
 * processes that go on, so no part of a sum falls below zero.
 *
 * A term in the future was written by a primary whose clock was ahead: until that time came, what processes reserved that no longer
 * exist would not expire. Those that exist report theirs again.
 *
 * `others` is materialized: the planner would repeat its expressions wherever a later step refers to them.
 */
const TAKE = `
  WITH me AS (
    INSERT INTO limit_process (holder, turn, seen_at) VALUES ($1, $2, clock_timestamp())
    ON CONFLICT (holder) DO UPDATE SET turn = excluded.turn, seen_at = excluded.seen_at WHERE limit_process.turn < excluded.turn
    RETURNING holder
  ), fleet AS (
    SELECT 1 + (SELECT count(*) FROM limit_process WHERE holder <> $1 AND ${IS_THERE})
             + (SELECT count(*) FROM limit_holder WHERE ${IS_THERE}) AS processes,
           (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS now_ms,
           set_config('synchronous_commit', 'off', true) AS commit_mode
  ), locked AS (
    SELECT mine.*, total.used, total.met, total.term,
           total.running_before, total.running AS running_now, total.reserved_before, total.reserved AS reserved_now
    FROM unnest($3::text[], $4::text[], $5::timestamptz[], $6::bigint[], $7::bigint[], $8::bigint[], $9::bigint[],
                $10::bigint[], $11::bigint[], $12::bigint[], $13::bigint[], $14::boolean[]) WITH ORDINALITY
         AS mine (subject, kind, period_start, cap, added, running, unused, most, last_term, last_reserved, last_running, is_new, position)
    JOIN limit_total AS total USING (subject, kind, period_start)
    WHERE EXISTS (SELECT FROM me) AND (SELECT commit_mode FROM fleet) = 'off'
    ORDER BY subject, kind, period_start
    FOR NO KEY UPDATE OF total
  ), timed AS (
    SELECT locked.*, processes, CASE WHEN term > clock_term + 1 THEN clock_term ELSE greatest(term, clock_term) END AS this_term
    FROM locked CROSS JOIN fleet
      CROSS JOIN LATERAL (SELECT now_ms / CASE WHEN period_start = 'epoch' THEN ${RUNNING_TERM_MS} ELSE ${TERM_MS} END AS clock_term) AS clock
  ), others AS MATERIALIZED (
    SELECT *,
      greatest(0, CASE this_term - term WHEN 0 THEN running_before WHEN 1 THEN running_now ELSE 0 END
        - CASE WHEN last_term = this_term - 1 THEN last_running ELSE 0 END) AS others_running_before,
      greatest(0, CASE this_term - term WHEN 0 THEN running_now ELSE 0 END
        - CASE WHEN last_term = this_term THEN last_running ELSE 0 END) AS others_running,
      greatest(0, CASE this_term - term WHEN 0 THEN reserved_before WHEN 1 THEN reserved_now ELSE 0 END
        - CASE WHEN last_term = this_term - 1 THEN last_reserved ELSE 0 END) AS others_reserved_before,
      greatest(0, CASE this_term - term WHEN 0 THEN reserved_now ELSE 0 END
        - CASE WHEN last_term = this_term THEN last_reserved ELSE 0 END) AS others_reserved
    FROM timed
  ), shares AS (
    SELECT *,
      others_running_before + others_running + running AS running_by_all,
      used + added + others_running_before + others_running + running AS used_by_all,
      CASE WHEN is_new THEN greatest(processes - 1 - met + CASE WHEN last_term IS NULL THEN 0 ELSE 1 END, 0)
        * greatest(cap / processes, least(cap, 1)) ELSE 0 END AS unmet,
      CASE processes WHEN 1 THEN 1 ELSE greatest(2, (processes + 1) / 2) END AS parts
    FROM others
  ), decided AS (
    SELECT *,
      least(most, CASE WHEN cap - used_by_all - others_reserved_before - others_reserved - unmet >= parts
             THEN (cap - used_by_all - others_reserved_before - others_reserved - unmet) / parts
           WHEN used_by_all < cap THEN 1 ELSE 0 END) AS granted
    FROM shares
  ), taken AS (
    UPDATE limit_total AS total SET
      used = decided.used + added,
      met = decided.met + CASE WHEN last_term IS NULL THEN 1 ELSE 0 END,
      term = this_term,
      running_before = others_running_before,
      running = others_running + decided.running,
      reserved_before = others_reserved_before,
      reserved = others_reserved + greatest(granted, unused)
    FROM decided
    WHERE total.subject = decided.subject AND total.kind = decided.kind AND total.period_start = decided.period_start
    RETURNING position, granted, used_by_all, running_by_all, this_term
  )
  SELECT processes::integer, position::integer, granted AS "grantedUse", used_by_all AS used,
         running_by_all AS running, this_term AS term
  FROM fleet LEFT JOIN taken ON true`;

/** Synchronizes this process with the others, once a second. */
export function createLimitTurns(database: Database, holder: string): LimitTurns {
  let turn = 0n;

  /** Rows that this process is the first to need. */
  async function addRows(uses: readonly LimitUse[]): Promise<void> {
    const first = uses.filter(({ last }) => last === null);
    if (first.length === 0) return;
    await database.execute(
      `INSERT INTO limit_total (subject, kind, period_start)
       SELECT * FROM unnest($1::text[], $2::text[], $3::timestamptz[]) AS mine (subject, kind, period_start)
       WHERE NOT EXISTS (SELECT FROM limit_total AS total WHERE total.subject = mine.subject AND total.kind = mine.kind
                           AND total.period_start = mine.period_start)
       ORDER BY 1, 2, 3 ON CONFLICT DO NOTHING`,
      keysOf(first),
    );
  }

  return {
    async take(uses) {
      turn++;
      await addRows(uses);
      const rows = await database.query({
        name: "limit-turn",
        text: TAKE,
        values: [
          holder,
          turn,
          ...keysOf(uses),
          uses.map(({ limit }) => limit),
          uses.map(({ added }) => added),
          uses.map(({ running }) => running),
          uses.map(({ unused }) => unused),
          uses.map(({ most }) => most),
          uses.map(({ last }) => last?.term ?? null),
          uses.map(({ last }) => last?.reserved ?? null),
          uses.map(({ last }) => last?.running ?? null),
          uses.map(({ isNew }) => isNew),
        ],
        row: grantRow,
      });
      const grants = uses.map((): LimitGrant | undefined => undefined);
      for (const { position, grantedUse, used, running, term } of rows)
        if (position !== null && grantedUse !== null && used !== null && running !== null && term !== null)
          grants[position - 1] = { grantedUse, used, running, term };
      return { grants, processes: rows[0]?.processes ?? 1 };
    },
    async resolve() {
      // Waits for the turn if it is still running; if it arrives later, its number is too low to count.
      const failed = turn;
      await database.execute(
        "INSERT INTO limit_process (holder, turn, seen_at) VALUES ($1, 0, clock_timestamp()) ON CONFLICT DO NOTHING",
        [holder],
      );
      const [row] = await database.query({
        text: `WITH before AS (SELECT turn FROM limit_process WHERE holder = $1 FOR UPDATE)
               UPDATE limit_process SET turn = $2 FROM before WHERE holder = $1 RETURNING before.turn`,
        values: [holder, failed + 1n],
        row: z.strictObject({ turn: z.bigint() }),
      });
      turn = failed + 1n;
      return row?.turn === failed;
    },
  };
}

function keysOf(uses: readonly LimitUse[]): unknown[] {
  return [
    uses.map(({ subject }) => subject),
    uses.map(({ kind }) => kind),
    uses.map(({ periodStartMs }) => new Date(periodStartMs)),
  ];
}
