import { expect } from "vitest";
import { createPromptSealer } from "../../../ledger/prompt-log/content.ts";
import { listRecords, readRecord, type PromptRecord } from "../../../ledger/prompt-log/records.ts";
import { readPepper } from "../../../local/demo.ts";
import { eventually } from "../eventually.ts";
import type { TestProduct } from "../stacks/product.ts";

/** Waits until the request of an account, by default the stack's own, is recorded. */
export async function recordedPrompt(
  stack: TestProduct,
  requestId: string | null,
  accountId = stack.accountId,
): Promise<PromptRecord> {
  const sealer = createPromptSealer(await readPepper(stack.directory.pepper));
  return eventually(async () => {
    const record = await readRecord(stack.database, sealer, { accountId, requestId: requestId ?? "" });
    if (record === undefined) throw new Error(`${requestId} is not recorded`);
    return record;
  });
}

/** A key's prompt log takes effect within a second: sends requests until one of them is recorded. */
export async function untilRecorded(
  { database, accountId: own }: TestProduct,
  send: () => Promise<unknown>,
  accountId = own,
): Promise<void> {
  const count = async () => (await listRecords(database, { accountId, limit: 1_000 })).records.length;
  const before = await count();
  await eventually(async () => {
    await send();
    expect(await count()).toBeGreaterThan(before);
  });
}

export function textsOf({ content: { request, answer } }: PromptRecord) {
  return { request: request.text.toString("utf8"), answer: answer?.text.toString("utf8") ?? "" };
}
