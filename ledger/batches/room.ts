import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import { MONOTONIC } from "../../runtime/clock.ts";
import type { Queryable } from "../postgres/database.ts";
import { lockAccount } from "../accounts/lock-account.ts";
import { checkAccountState } from "../keys/check-key.ts";

/** As SQL: longer than an upload may take. Then what one has reserved is free again, although its process was killed. */
export const UPLOAD_TIME = "interval '10 minutes'";
const MEBIBYTE = 1024 * 1024;
/** The sum over all accounts reads every row: it may be this old, besides what this process has added since. */
const SUM_AGE_MS = 10_000;
/** Finished batches that still have to be deleted, beside those that are kept. */
const MAX_LEAVING = 1_000;

const wholeNumber = z.bigint().transform(Number);
const useRow = z.strictObject({
  isSuspended: z.boolean(),
  files: wholeNumber,
  batches: wholeNumber,
  leavingBatches: wholeNumber,
  openBatches: wholeNumber,
  bytes: wholeNumber,
});
type Use = z.infer<typeof useRow>;

/** The room that files and batches of all accounts share. */
export interface BatchRoom {
  /**
   * Makes sure that the account, and the gateway, have room for a file or a batch of this size. To be called in the transaction that
   * takes it: an account takes room once at a time. Of an account with too many finished batches, the oldest are deleted.
   * @throws GatewayError `invalid_request` that names what to delete; `rate_limited` if it is being deleted; `overloaded` if all
   * accounts together have filled the room, or the rest is kept for others; `permission_denied` if the account was closed meanwhile.
   */
  take(transaction: Queryable, wish: { accountId: string; kind: "file" | "batch"; bytes: number }): Promise<void>;
  /**
   * So much of what was taken is free again once `work` is done: uploads take as much as they may have, and have less, or fail.
   * @param work resolves to false if nothing was freed.
   * @returns the same.
   */
  giveBack(bytes: number, work: () => Promise<boolean>): Promise<boolean>;
}

export interface BatchRoomDeps {
  /** Of all accounts. Several processes that do not know of one another's latest ones may exceed it a little. */
  maxBytes: number;
  nowMs?: () => number;
}

export function createBatchRoom({ maxBytes, nowMs = MONOTONIC.nowMs }: BatchRoomDeps): BatchRoom {
  let known = { bytes: 0, atMs: -Infinity };
  let takenBytes = 0;

  async function sum(transaction: Queryable): Promise<number> {
    if (nowMs() - known.atMs <= SUM_AGE_MS) return known.bytes;
    const before = takenBytes;
    const bytes = await sumOfAll(transaction);
    // What others took meanwhile may be missing in it.
    known = { bytes: bytes + takenBytes - before, atMs: nowMs() };
    return known.bytes;
  }

  return {
    async take(transaction, { accountId, kind, bytes }) {
      await lockAccount(transaction, accountId);
      const own = await useOf(transaction, accountId);
      checkAccountState(own);
      checkOwn(own, { kind, bytes });
      const all = await sum(transaction);
      // As much as an account keeps stays free for others: no few accounts fill the room.
      if (all + bytes > maxBytes || own.bytes + bytes > maxBytes - all - bytes)
        throw new GatewayError("overloaded", "This service has no storage left for batches right now. Try again later.", {
          headers: { "retry-after": "600" },
        });
      if (kind === "batch" && own.batches - own.leavingBatches >= ACCOUNT_BOUNDS.batches)
        await dropOldest(transaction, accountId, own.batches - own.leavingBatches - ACCOUNT_BOUNDS.batches + 1);
      known.bytes += bytes;
      takenBytes += bytes;
    },
    async giveBack(bytes, work) {
      const before = known;
      const isFreed = await work();
      // A sum read meanwhile may be without these bytes.
      if (isFreed && known === before) known.bytes = Math.max(0, known.bytes - bytes);
      return isFreed;
    },
  };
}

async function useOf(transaction: Queryable, accountId: string): Promise<Use> {
  const [own] = await transaction.query({
    text: `SELECT files.count AS files, batches.count AS batches, batches.leaving AS "leavingBatches",
             batches.open AS "openBatches", files.bytes + batches.bytes AS bytes,
             coalesce((SELECT status FROM account WHERE id = $1) <> 'active', false) AS "isSuspended"
           FROM (SELECT count(*), coalesce(sum(bytes), 0)::bigint AS bytes FROM batch_file WHERE account_id = $1) AS files,
             (SELECT count(*), count(*) FILTER (WHERE state <> 'ended') AS open, count(*) FILTER (WHERE deleted_at <= now()) AS leaving,
                coalesce(sum(bytes), 0)::bigint AS bytes
              FROM batch WHERE account_id = $1) AS batches`,
    values: [accountId],
    row: useRow,
  });
  if (own === undefined) throw new Error("An aggregate returned no row.");
  return own;
}

function checkOwn(own: Use, { kind, bytes }: { kind: "file" | "batch"; bytes: number }): void {
  const bounds = ACCOUNT_BOUNDS;
  if (kind === "file" && own.files >= bounds.batchFiles)
    throw full(`An account can have at most ${bounds.batchFiles} files. Delete some with DELETE /v1/files/{id}.`);
  if (kind === "batch" && own.openBatches >= bounds.openBatches)
    throw full(`An account can have at most ${bounds.openBatches} unfinished batches. Wait until one ends, or cancel one.`);
  if (kind === "batch" && own.leavingBatches >= MAX_LEAVING)
    throw new GatewayError(
      "rate_limited",
      "Many batches of this account are being deleted at the moment. Try again in a minute.",
      {
        headers: { "retry-after": "60" },
      },
    );
  if (own.bytes + bytes > bounds.batchMebibytes * MEBIBYTE)
    throw full(
      `The account's files, batches and results would take more than ${bounds.batchMebibytes} MiB. Delete files, results and finished batches first.`,
    );
}

async function sumOfAll(transaction: Queryable): Promise<number> {
  const [all] = await transaction.query({
    text: `SELECT (SELECT coalesce(sum(bytes), 0) FROM batch_file)::bigint + (SELECT coalesce(sum(bytes), 0) FROM batch)::bigint AS bytes`,
    row: z.strictObject({ bytes: wholeNumber }),
  });
  return all?.bytes ?? 0;
}

/** Of an account's finished batches. */
async function dropOldest(transaction: Queryable, accountId: string, count: number): Promise<void> {
  await transaction.execute(
    `UPDATE batch SET deleted_at = now() WHERE id IN (
       SELECT id FROM batch WHERE account_id = $1 AND state = 'ended' AND deleted_at > now() ORDER BY created_at, id LIMIT $2
     )`,
    [accountId, count],
  );
}

function full(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}
