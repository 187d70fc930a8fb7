import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { readAccountPage, readChangedKeyPage, readModels } from "./pages.ts";
import type { Change } from "./rows.ts";

/**
 * The lowest transaction id that is open, or has not begun. Read before the rows: anything that commits later has this id or a
 * higher one, so the next reading starts here and misses nothing (migrations/0001).
 */
export async function readHorizon(database: Queryable): Promise<bigint> {
  const [snapshot] = await database.query({
    name: "feed-horizon",
    text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid`,
    row: z.strictObject({ xid: z.bigint() }),
  });
  if (snapshot === undefined) throw new Error("A snapshot has no xmin.");
  return snapshot.xid;
}

/**
 * The rows changed by transaction `sinceXid` or a later one, including deleted keys, in pages: each statement is bounded, however
 * much has changed. A row may be returned again unchanged, and never after a later version of itself.
 */
export async function* readChanges(database: Queryable, sinceXid: bigint): AsyncGenerator<Change> {
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
