import { readdir, readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { readJournal } from "../../../../extproc/journal/read-journal.ts";
import { encodeRun, type StartedRun } from "../../../../extproc/journal/record.ts";
import { NO_DAMAGE, openTestJournal, startOf } from "../../../support/billing/journal.ts";
import { PRICE, settlementOf } from "../../../support/billing/ledger.ts";

/** Requests that were sent with an account's own key: they owe a fee, whichever version reads the journal (S59). */
const customer = { accountId: "acme", keyId: "key" };
const FEE = { requestPicoUsd: 5_000_000n, millionths: 100_000n };
const USAGE = { inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 0 };
/** 100 × 300,000 + 50 × 1,200,000 pico-USD. */
const LIST = 90_000n;
const OWED = 5_000n + LIST / 10n;

function started(): { run: StartedRun; settlement: ReturnType<typeof settlementOf> } {
  const settlement = settlementOf(customer, { providerKey: "example", chargeNanoUsd: OWED, usage: USAGE });
  return { settlement, run: { ...startOf(settlement), providerKey: "example", price: { ...PRICE, fee: FEE } } };
}

test("a fee survives a crash before and after the answer has ended (S59)", async () => {
  const { directory, journal } = await openTestJournal();
  const [ended, running, silent] = [started(), started(), started()];
  for (const { run } of [ended, running, silent]) journal.start(run);
  journal.end(ended.settlement);
  const { requestId } = running.run;
  journal.checkpoint({ requestId, usage: USAGE, durationMs: 10, firstTokenMs: 5 });

  const { settlements, damage } = await readJournal(directory);
  expect(damage).toEqual(NO_DAMAGE);
  expect(settlements).toEqual([
    ended.settlement,
    expect.objectContaining({ requestId, outcome: "lost", providerKey: "example", chargeNanoUsd: OWED }),
    // Nothing is known to have been delivered.
    expect.objectContaining({ outcome: "lost", providerKey: "example", chargeNanoUsd: 0n }),
  ]);
});

test("a version that knows no fees charges a lost request no more than it owes (S59)", async () => {
  const { run } = started();
  const [, prices] = JSON.parse(encodeRun(run));
  expect(prices).toEqual(["30000", "3000", "30000", "120000"]);
});

test("without the record of its key, a request is charged by its other records (S39)", async () => {
  const { directory, journal } = await openTestJournal();
  const [ended, running] = [started(), started()];
  for (const { run } of [ended, running]) journal.start(run);
  journal.end(ended.settlement);
  journal.checkpoint({ requestId: running.run.requestId, usage: USAGE, durationMs: 10, firstTokenMs: 5 });
  const [name = ""] = (await readdir(directory)).filter((file) => file.endsWith(".journal"));
  const file = path.join(directory, name);
  const bytes = await readFile(file);
  for (let at = bytes.indexOf('["provider_key"'); at !== -1; at = bytes.indexOf('["provider_key"', at + 1)) bytes[at + 5] = 0;
  await writeFile(file, bytes);

  const { settlements, damage } = await readJournal(directory);
  expect(damage.records).toBe(2);
  expect(settlements).toMatchObject([{ chargeNanoUsd: OWED }, { outcome: "lost", chargeNanoUsd: LIST / 10n }]);
});
