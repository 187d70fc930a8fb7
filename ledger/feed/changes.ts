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

/** Before the rows: what commits later is open in it, or above it, and so in the next reading (docs/decisions/0091). */
export async function readSnapshot(database: Queryable): Promise<Snapshot> {
  const [snapshot] = await database.query({
    name: "feed-snapshot",
    text: `SELECT pg_snapshot_xmax(snapshot)::text AS "nextXid",
             ARRAY(SELECT pg_snapshot_xip(snapshot)::text) AS "openXids"
           FROM pg_current_snapshot() AS snapshot`,
    row: snapshotRow,
  });
  if (snapshot === undefined) throw new Error("Postgres has no snapshot.");
  return { nextXid: BigInt(snapshot.nextXid), openXids: new Set(snapshot.openXids.map(BigInt)) };
}

const snapshotRow = z.strictObject({ nextXid: z.string(), openXids: z.array(z.string()) });

/**
 * The lowest transaction that may have ended between two snapshots. One that stays open, in whichever database of the server, does
 * not count before its end: everything since its beginning would be read again each time.
 */
function lowestEnded(seen: Snapshot, now: Snapshot): bigint {
  const ended = [...seen.openXids].filter((xid) => !now.openXids.has(xid));
  return ended.reduce((lowest, xid) => (xid < lowest ? xid : lowest), seen.nextXid);
}

/**
 * What has changed since a snapshot, in pages, as of one moment: otherwise a transaction that began before the others, and ends
 * while the rows are read, could change one of them again, which would then be below the ids that are asked for until the next time.
 * @returns the snapshot from which the next reading goes on.
 */
export function readNews(database: Database, seen: Snapshot, onPage: (page: Change) => void): Promise<Snapshot> {
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
