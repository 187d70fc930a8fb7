import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { onTestFinished } from "vitest";
import { openJournal, type Journal, type JournalOptions } from "../../../extproc/journal/journal.ts";
import type { JournalDamage } from "../../../extproc/journal/read-journal.ts";
import type { StartedRun } from "../../../extproc/journal/record.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { PRICE } from "./ledger.ts";

export const NO_DAMAGE: JournalDamage = { records: 0, bytes: 0, segments: [] };

export interface TestJournal {
  root: string;
  directory: string;
  journal: Journal;
  failures: unknown[];
}

/** A journal in a folder of its own, which goes when the test has finished. */
export async function openTestJournal(options: Partial<JournalOptions> = {}): Promise<TestJournal> {
  const root = await makeRoot();
  const failures: unknown[] = [];
  const journal = await openJournal({ root, holder: "one", onFailed: (error) => failures.push(error), ...options });
  return { root, directory: path.join(root, "one"), journal, failures };
}

export async function makeRoot(): Promise<string> {
  const root = await mkdtemp(path.join(tmpdir(), "gateway-journal-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  return root;
}

/** The start record of the attempt that ends in this settlement. */
export function startOf(settlement: Settlement): StartedRun {
  const { requestId, attempt, accountId, keyId, model, interface: face, upstreamProtocol, backend } = settlement;
  const { priceVersionId, isStream, startedAt } = settlement;
  const names = { requestId, attempt, accountId, keyId, model, interface: face, upstreamProtocol, backend };
  return { ...names, priceVersionId, isStream, startedAt, price: PRICE, ...(settlement.labels && { labels: settlement.labels }) };
}
