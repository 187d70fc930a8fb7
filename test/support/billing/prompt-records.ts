import { v7 as uuidv7 } from "uuid";
import { createPromptSealer } from "../../../ledger/prompt-log/content.ts";
import { writeRecords, type NewRecord } from "../../../ledger/prompt-log/write-records.ts";
import type { Queryable } from "../../../ledger/postgres/database.ts";
import { PEPPER, type Customer } from "./ledger.ts";

const sealer = createPromptSealer(PEPPER);

interface Recorded extends Partial<Omit<NewRecord, "content">> {
  request?: string | Buffer;
  /** null: none. */
  answer?: string | Buffer | null;
}

/** Records a request of a customer whose key has a prompt log. @returns its id. */
export async function addPromptRecord(
  database: Queryable,
  { accountId, keyId }: Pick<Customer, "accountId" | "keyId">,
  { request = "{}", answer = "{}", ...facts }: Recorded = {},
): Promise<string> {
  const { requestId = uuidv7() } = facts;
  const textOf = (text: string | Buffer) => ({ text: Buffer.from(text), bytes: text.length, isCut: false });
  const content = { request: textOf(request), answer: answer === null ? null : textOf(answer) };
  const sealed = await sealer.seal({ accountId, keyId, requestId }, content);
  const usual = { interface: "chat", model: "modelx-v4-pro", isStream: false, status: 200, isWhole: true } as const;
  const sizes = { requestBytes: request.length, answerBytes: answer?.length ?? 0 };
  const record = { accountId, keyId, startedAt: new Date(), ...usual, ...sizes, ...facts, requestId, content: sealed };
  await writeRecords(database, [record]);
  return requestId;
}

/** Has its key record from now on. */
export async function turnOnPromptLog(database: Queryable, { keyId }: Pick<Customer, "keyId">, days = 7): Promise<void> {
  await database.execute("UPDATE api_key SET prompt_log_days = $2 WHERE public_id = $1", [keyId, days]);
}
