import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";
import { PAGE_ROWS, readAccountPage, readChangedKeyPage, readModels } from "./pages.ts";
import type { AccountRow, Change, UnreadableModel } from "./rows.ts";

/** A page of what changed. */
export interface ChangePage extends Change {
  unreadableModels: UnreadableModel[];
}

/**
 * The lowest transaction id that is open, or has not begun. Read before rows are: what commits later has this id or a
 * higher one, so the next reading starts here and misses nothing (migrations/0001).
 */
export async function readHorizon(database: Queryable): Promise<bigint> {
  const [snapshot] = await database.query({
    text: `SELECT pg_snapshot_xmin(pg_current_snapshot())::text::bigint AS xid`,
    row: z.strictObject({ xid: z.bigint() }),
  });
  if (snapshot === undefined) throw new Error("A snapshot has no xmin.");
  return snapshot.xid;
}

/**
 * The rows that were changed by transaction `sinceXid` or a later one, deleted keys too, in pages: each statement is
 * bounded, however much has changed. A row may come again unchanged, and never after a later version of itself.
 */
export async function* readChanges(database: Queryable, sinceXid: bigint): AsyncGenerator<ChangePage> {
  // Keys before accounts: the account of each key is among those that are known or read next.
  let { keys, next } = await readChangedKeyPage(database, { xid: sinceXid, publicId: "" });
  let { models, unreadableModels } = await readModels(database, sinceXid);
  for await (const accounts of changedAccounts(database, sinceXid)) {
    yield { accounts, keys: [], models, unreadableModels };
    [models, unreadableModels] = [[], []];
  }
  yield { accounts: [], keys, models: [], unreadableModels: [] };
  while (next !== null) {
    ({ keys, next } = await readChangedKeyPage(database, next));
    yield { accounts: [], keys, models: [], unreadableModels: [] };
  }
}

async function* changedAccounts(database: Queryable, sinceXid: bigint): AsyncGenerator<AccountRow[]> {
  for (let afterId = ""; ;) {
    const accounts = await readAccountPage(database, { afterId, sinceXid });
    yield accounts;
    const last = accounts.at(-1);
    if (accounts.length < PAGE_ROWS || last === undefined) return;
    afterId = last.accountId;
  }
}
