import * as z from "zod";
import type { Database, Queryable } from "../postgres/database.ts";
import { readAccountPage, readChangedKeyPage, readModels } from "./pages.ts";
import type { Change } from "./rows.ts";

/** Which transactions had ended at a moment: all below `nextXid`, but for those that were open. */
export interface Snapshot {
  nextXid: bigint;
  openXids: ReadonlySet<bigint>;
}

/** Before every transaction. */
export const BEGINNING: Snapshot = { nextXid: 0n, openXids: new Set() };

const SNAPSHOT = `pg_snapshot_xmax(snapshot)::text AS "nextXid", ARRAY(SELECT pg_snapshot_xip(snapshot)::text) AS "openXids"`;

/** Before the rows: what commits later is open in it, or above it, and so in the next reading (docs/decisions/0091). */
export async function readSnapshot(database: Queryable): Promise<Snapshot> {
  const [snapshot] = await database.query({
    name: "feed-snapshot",
    text: `SELECT ${SNAPSHOT} FROM pg_current_snapshot() AS snapshot`,
    row: snapshotRow,
  });
  return toSnapshot(snapshot);
}

const snapshotRow = z.strictObject({ nextXid: z.string(), openXids: z.array(z.string()) });

function toSnapshot(row: z.infer<typeof snapshotRow> | undefined): Snapshot {
  if (row === undefined) throw new Error("Postgres has no snapshot.");
  return { nextXid: BigInt(row.nextXid), openXids: new Set(row.openXids.map(BigInt)) };
}

/**
 * Has anything changed since a snapshot? One statement, and so as of one moment: most readings find nothing. It may say yes in vain
 * while a transaction stays open.
 */
async function look(database: Queryable, seen: Snapshot): Promise<{ now: Snapshot; isNews: boolean }> {
  const [row] = await database.query({
    name: "feed-look",
    // The largest of an index, but for balances: their index is a BRIN.
    text: `SELECT ${SNAPSHOT},
             greatest(
               (SELECT max(changed_xid) FROM account), (SELECT max(changed_xid) FROM api_key), (SELECT max(changed_xid) FROM model)
             ) >= $1 OR (SELECT count(*) FROM account_balance WHERE changed_xid >= $1) > 0 AS "isNews"
           FROM pg_current_snapshot() AS snapshot`,
    values: [lowestOf([...seen.openXids, seen.nextXid])],
    row: snapshotRow.extend({ isNews: z.boolean().nullable() }),
  });
  // Null: there is nothing at all.
  return { now: toSnapshot(row), isNews: row?.isNews === true };
}

/**
 * The lowest transaction that may have ended between two snapshots. One that stays open, in whichever database of the server, does
 * not count before its end: everything since its beginning would be read again each time.
 */
function lowestEnded(seen: Snapshot, now: Snapshot): bigint {
  const ended = [...seen.openXids].filter((xid) => !now.openXids.has(xid));
  return lowestOf([...ended, seen.nextXid]);
}

function lowestOf(xids: readonly bigint[]): bigint {
  return xids.reduce((lowest, xid) => (xid < lowest ? xid : lowest));
}

/**
 * What has changed since a snapshot, in pages, as of one moment: otherwise a transaction that began before the others, and ends
 * while the rows are read, could change one of them again, which would then be below the ids that are asked for until the next time.
 * @returns the snapshot from which the next reading goes on.
 */
export async function readNews(database: Database, seen: Snapshot, onPage: (page: Change) => void): Promise<Snapshot> {
  const { now, isNews } = await look(database, seen);
  if (!isNews) return now;
  return database.transaction(
    async (transaction) => {
      const now = await readSnapshot(transaction);
      for await (const page of readChanges(transaction, lowestEnded(seen, now))) onPage(page);
      return now;
    },
    { isolation: "repeatable read", isReadOnly: true },
  );
}

/**
 * The rows changed by transaction `sinceXid` or a later one, including deleted keys, in pages: each statement is bounded, however
 * much has changed. A row may be returned again unchanged, and never after a later version of itself.
 */
async function* readChanges(database: Queryable, sinceXid: bigint): AsyncGenerator<Change> {
  // Keys before accounts: the account of each key is already known or read next.
  let keyPage = await readChangedKeyPage(database, { xid: sinceXid, publicId: "" });
  yield { ...NOTHING, ...(await readModels(database, sinceXid)) };
  for (let afterId: string | null = ""; afterId !== null;) {
    const { accounts, unreadable, next } = await readAccountPage(database, { afterId, sinceXid });
    yield { ...NOTHING, accounts, unreadable };
    afterId = next;
  }
  for (;;) {
    const { keys, unreadable, next } = keyPage;
    yield { ...NOTHING, keys, unreadable };
    if (next === null) return;
    keyPage = await readChangedKeyPage(database, next);
  }
}

export const NOTHING = { accounts: [], keys: [], models: [], unreadable: [] } satisfies Change;
