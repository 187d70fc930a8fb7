import { GatewayError } from "../../contract/errors.ts";
import type { BatchContent } from "../../ledger/batches/content.ts";
import { closeRequests, finishBatch, listUnsent, takeEnding, type EndingBatch } from "../../ledger/batches/ending.ts";
import { failureLine, stopReason } from "../../ledger/batches/result-line.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { statusOf, type BatchStatus } from "./shapes.ts";

/**
 * Ends one batch that has nothing in flight: requests that were not sent get their results.
 * @returns how it ended; undefined if there is none.
 */
export async function endOne({
  database,
  content,
}: {
  database: Database;
  content: BatchContent;
}): Promise<BatchStatus | undefined> {
  const batch = await takeEnding(database);
  if (batch === undefined) return undefined;
  const { id: batchId, stoppedBy } = batch;
  const reason = stoppedBy === null ? null : stopReason(stoppedBy);
  for (;;) {
    const unsent = await listUnsent(database, batchId);
    if (unsent.length === 0) break;
    const failure = reason ?? new GatewayError("internal_error", "The request was not sent.");
    const results = unsent.map(({ number, customId }) => {
      const plain = Buffer.from(failureLine({ ...named(batch), number, customId }, failure));
      return { number, result: content.sealResult({ batchId, number }, plain), resultBytes: plain.length };
    });
    await closeRequests(database, { batchId, outcome: typeof failure === "string" ? failure : "errored", results });
  }
  const error = reason instanceof GatewayError ? { code: reason.code, message: reason.message } : null;
  await finishBatch(database, { batchId, error });
  return statusOf({ state: "ended", stoppedBy });
}

function named({ id: batchId, interface: client }: EndingBatch) {
  return { batchId, interface: client };
}
