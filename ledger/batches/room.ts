import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { GatewayError } from "../../contract/errors.ts";
import type { Queryable } from "../postgres/database.ts";

const MEBIBYTE = 1024 * 1024;

const wholeNumber = z.bigint().transform(Number);
const useRow = z.strictObject({
  files: wholeNumber,
  batches: wholeNumber,
  openBatches: wholeNumber,
  bytes: wholeNumber,
});

/**
 * Makes sure that the account, and the gateway, have room for a file or a batch of this size. To be called in the transaction that
 * takes it: an account takes room once at a time.
 * @throws GatewayError `invalid_request` that names what to delete; `overloaded` if all accounts together have filled the room.
 */
export async function checkRoom(
  transaction: Queryable,
  { accountId, kind, bytes, maxBytes }: { accountId: string; kind: "file" | "batch"; bytes: number; maxBytes: number },
): Promise<void> {
  await transaction.execute("SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  const [own] = await transaction.query({
    text: `SELECT files.count AS files, batches.count AS batches, batches.open AS "openBatches", files.bytes + batches.bytes AS bytes
           FROM (SELECT count(*), coalesce(sum(bytes), 0)::bigint AS bytes FROM batch_file WHERE account_id = $1) AS files,
             (SELECT count(*), count(*) FILTER (WHERE state <> 'ended') AS open, coalesce(sum(bytes), 0)::bigint AS bytes
              FROM batch WHERE account_id = $1) AS batches`,
    values: [accountId],
    row: useRow,
  });
  if (own === undefined) throw new Error("An aggregate returned no row.");
  const bounds = ACCOUNT_BOUNDS;
  if (kind === "file" && own.files >= bounds.batchFiles)
    throw full(`An account has at most ${bounds.batchFiles} files. Delete some with DELETE /v1/files/{id}.`);
  if (kind === "batch" && own.batches >= bounds.batches)
    throw full(
      `An account has at most ${bounds.batches} batches. They are deleted 30 days after their end; batches of messages can be deleted earlier.`,
    );
  if (kind === "batch" && own.openBatches >= bounds.openBatches)
    throw full(`An account has at most ${bounds.openBatches} batches that are not finished. Wait until one is, or cancel one.`);
  if (own.bytes + bytes > bounds.batchMebibytes * MEBIBYTE)
    throw full(
      `The account's files, batches and results would need more than ${bounds.batchMebibytes} MiB. Delete files and finished batches first.`,
    );
  const [all] = await transaction.query({
    text: `SELECT (SELECT coalesce(sum(bytes), 0) FROM batch_file)::bigint + (SELECT coalesce(sum(bytes), 0) FROM batch)::bigint AS bytes`,
    row: z.strictObject({ bytes: wholeNumber }),
  });
  if (all !== undefined && all.bytes + bytes > maxBytes)
    throw new GatewayError("overloaded", "This service has no room for further batches at the moment. Try again later.", {
      headers: { "retry-after": "600" },
    });
}

function full(message: string): GatewayError {
  return new GatewayError("invalid_request", message);
}
