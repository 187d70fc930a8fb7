import type { PromptSealer } from "../../ledger/prompt-log/content.ts";
import {
  deleteRecord,
  deleteRecordsOfKey,
  listRecords,
  noSuchRecord,
  readRecord,
  type PromptRecord,
} from "../../ledger/prompt-log/records.ts";
import { lockForChange } from "../../ledger/people/actor.ts";
import { admitChange, noteAction, noteReading } from "../../ledger/people/audit.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { isRequestId } from "../../ledger/usage/request-id-time.ts";

/** Who reads or deletes an account's recorded prompts: a person on a page, or a program with a management token. */
export interface PromptLogActor {
  accountId: string;
  /** null if a token acts. */
  personId: string | null;
  /** null if a person acts. */
  tokenId: string | null;
}

/**
 * The record of a request. That it was read is in the audit log before anything of it is known, once an hour for each reader.
 * @throws GatewayError `not_found` for a request of another account, too.
 */
export async function readPrompt(
  database: Database,
  sealer: Pick<PromptSealer, "open">,
  { requestId, ...actor }: PromptLogActor & { requestId: string },
): Promise<PromptRecord> {
  if (!isRequestId(requestId, Date.now())) throw noSuchRecord();
  const { accountId, personId, tokenId } = actor;
  return database.transaction(async (transaction) => {
    const found = await readRecord(transaction, sealer, { accountId, requestId });
    if (found === undefined) throw noSuchRecord();
    await noteReading(transaction, { accountId, personId, tokenId, action: "prompt_log.read", subject: requestId });
    return found;
  });
}

/** @throws GatewayError `not_found` as above. */
export async function deletePrompt(
  database: Database,
  { requestId, ...actor }: PromptLogActor & { requestId: string },
): Promise<void> {
  if (!isRequestId(requestId, Date.now())) throw noSuchRecord();
  const { accountId, personId, tokenId } = actor;
  await database.transaction(async (transaction) => {
    await lockForChange(transaction, actor, "managePromptLog");
    await deleteRecord(transaction, { accountId, requestId });
    await noteAction(transaction, { accountId, personId, tokenId, action: "prompt_log.deleted", subject: requestId });
  });
}

/**
 * Of all of a key's requests so far; the key is the account's.
 * @throws GatewayError `rate_limited` if there are none, and the account has reached its changes of keys per 24 hours.
 */
export async function deletePromptsOfKey(
  database: Database,
  { keyId, ...actor }: PromptLogActor & { keyId: string },
): Promise<void> {
  const { accountId, personId, tokenId } = actor;
  await database.transaction(async (transaction) => {
    const { records } = await listRecords(transaction, { accountId, keyId, limit: 1 });
    // There may be some on their way here; but asked on and on, it would fill the audit log.
    await admitChange(transaction, records.length === 0 ? "key" : null, actor, "managePromptLog");
    await deleteRecordsOfKey(transaction, { accountId, keyId, nowMs: Date.now() });
    await noteAction(transaction, { accountId, personId, tokenId, action: "key.prompt_log_deleted", subject: keyId });
  });
}
