import { mkdtemp, readdir, readFile, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect, onTestFinished, test } from "vitest";
import { decodeFrames, encodeFrame } from "../../../extproc/journal/frame.ts";
import { openJournal, type JournalOptions } from "../../../extproc/journal/journal.ts";
import type { StartedRun } from "../../../extproc/journal/record.ts";
import { readJournal, recoverJournals } from "../../../extproc/journal/recovery.ts";
import type { Settlement } from "../../../ledger/settle.ts";
import { createLog } from "../../../runtime/log.ts";
import { settlementOf } from "../../support/ledger.ts";

const PRICE = { inputPicoUsd: 300_000n, cachedInputPicoUsd: 30_000n, cacheWritePicoUsd: 300_000n, outputPicoUsd: 1_200_000n };
const USAGE = { inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 0 };
const customer = { accountId: "acme", keyId: "key" };

async function open(options: Partial<JournalOptions> = {}) {
  const root = await mkdtemp(path.join(tmpdir(), "gateway-journal-"));
  onTestFinished(() => rm(root, { recursive: true, force: true }));
  const failures: unknown[] = [];
  const journal = await openJournal({ root, holder: "one", onFailed: (error) => failures.push(error), ...options });
  return { root, directory: path.join(root, "one"), journal, failures };
}

function startOf(settlement: Settlement): StartedRun {
  const { requestId, attempt, accountId, keyId, model, interface: face, upstreamProtocol, backend } = settlement;
  const { priceVersionId, isStream, startedAt } = settlement;
  const names = { requestId, attempt, accountId, keyId, model, interface: face, upstreamProtocol, backend };
  return { ...names, priceVersionId, isStream, startedAt, price: PRICE };
}

test("what was ended is recovered as it was, bigints and dates included", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer, { chargeNanoUsd: 2n ** 62n, leaseId: "lease", firstTokenMs: 12 });
  journal.start(startOf(settlement));
  journal.end(settlement);
  expect(await readJournal(directory)).toEqual({ settlements: [settlement], brokenBytes: 0 });
});

test("each value comes back in its own place", async () => {
  const { journal, directory } = await open();
  const ended = settlementOf(customer, {
    attempt: 2,
    model: "a model",
    interface: "responses",
    upstreamProtocol: "messages",
    backend: "a backend",
    priceVersionId: 3n,
    usage: { inputTokens: 4, cachedInputTokens: 5, cacheWriteTokens: 6, outputTokens: 7, reasoningTokens: 8 },
    isEstimated: true,
    chargeNanoUsd: 9n,
    leaseId: "a lease",
    httpStatus: 210,
    outcome: "stopped",
    isStream: true,
    startedAt: new Date(11),
    durationMs: 12,
    firstTokenMs: 13,
  });
  journal.end(ended);
  const lost = { ...startOf(ended), requestId: "another", isStream: false };
  journal.start({
    ...lost,
    price: { inputPicoUsd: 1_000n, cachedInputPicoUsd: 100_000n, cacheWritePicoUsd: 10_000_000n, outputPicoUsd: 1_000_000_000n },
  });
  const { requestId } = lost;
  journal.checkpoint({ requestId, usage: ended.usage, durationMs: 14, firstTokenMs: 15 });
  const { price: _, ...facts } = lost;
  const { settlements } = await readJournal(directory);
  expect(settlements).toEqual([
    ended,
    {
      ...facts,
      usage: ended.usage,
      isEstimated: true,
      chargeNanoUsd: 7_060_504n,
      leaseId: null,
      httpStatus: 500,
      outcome: "lost",
      durationMs: 14,
      firstTokenMs: 15,
    },
  ]);
});

test("what was only started is lost and free; with a checkpoint it is charged as noted last", async () => {
  const { journal, directory } = await open();
  const [free, charged] = [settlementOf(customer), settlementOf(customer)];
  journal.start(startOf(free));
  journal.start(startOf(charged));
  journal.checkpoint({ requestId: charged.requestId, usage: { ...USAGE, outputTokens: 1 }, durationMs: 10, firstTokenMs: 5 });
  journal.checkpoint({ requestId: charged.requestId, usage: USAGE, durationMs: 1_010, firstTokenMs: 5 });
  const { settlements } = await readJournal(directory);
  expect(settlements).toEqual([
    expect.objectContaining({ requestId: free.requestId, outcome: "lost", isEstimated: true, chargeNanoUsd: 0n }),
    expect.objectContaining({
      requestId: charged.requestId,
      outcome: "lost",
      isEstimated: true,
      usage: USAGE,
      chargeNanoUsd: 90_000n,
      durationMs: 1_010,
    }),
  ]);
});

test("what another server answered than the first is lost in that one's name", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer, { backend: "first", upstreamProtocol: "chat" });
  const { requestId } = settlement;
  journal.start(startOf(settlement));
  const answeredBy = { backend: "second", upstreamProtocol: "messages" } as const;
  journal.checkpoint({ requestId, usage: USAGE, durationMs: 10, firstTokenMs: null, answeredBy });
  expect((await readJournal(directory)).settlements).toMatchObject([{ ...answeredBy, outcome: "lost", usage: USAGE }]);
});

test("a record torn at any byte is left out, and those before it are whole", () => {
  const frames = ["first", "zweiter Satz: ä€", "third"].map(encodeFrame);
  const bytes = Buffer.concat(frames);
  const ends = frames.map((_, index) => frames.slice(0, index + 1).reduce((sum, { length }) => sum + length, 0));
  for (let cut = 0; cut <= bytes.length; cut++) {
    const { texts, brokenBytes } = decodeFrames(bytes.subarray(0, cut));
    const whole = ends.filter((end) => end <= cut);
    expect(texts.length).toBe(whole.length);
    expect(brokenBytes).toBe(cut - (whole.at(-1) ?? 0));
  }
});

test("a record with a changed byte is left out", () => {
  const bytes = Buffer.concat([encodeFrame("first"), encodeFrame("second")]);
  bytes[bytes.length - 1] = 0;
  expect(decodeFrames(bytes).texts).toEqual(["first"]);
});

test("a segment goes when everything in it is committed, and not before", async () => {
  const { journal, directory } = await open({ segmentBytes: 1 });
  const settlements = Array.from({ length: 3 }, () => settlementOf(customer));
  for (const settlement of settlements) {
    journal.start(startOf(settlement));
    journal.end(settlement);
  }
  const segments = async () => (await readdir(directory)).filter((name) => name.endsWith(".journal"));
  expect(await segments()).toHaveLength(6);
  journal.committed(settlements.slice(1));
  expect(await segments()).toEqual(["00000001.journal", "00000002.journal", "00000007.journal"]);
  journal.committed(settlements.slice(0, 1));
  expect(await segments()).toEqual(["00000007.journal"]);
  await journal.close();
  expect(await readdir(path.dirname(directory))).toEqual([]);
});

test("past its cap nothing starts, and what runs can still end", async () => {
  const { journal, directory, failures } = await open({ mostBytes: 100, segmentBytes: 1 });
  const first = settlementOf(customer);
  journal.start(startOf(first));
  expect(() => journal.start(startOf(settlementOf(customer)))).toThrow(expect.objectContaining({ code: "billing_unavailable" }));
  journal.end(first);
  expect((await readJournal(directory)).settlements).toEqual([first]);
  expect(failures).toEqual([]);
  journal.committed([first]);
  journal.start(startOf(settlementOf(customer)));
});

test("a journal with something left stays when it is closed", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer);
  journal.start(startOf(settlement));
  await journal.close();
  expect((await readJournal(directory)).settlements).toHaveLength(1);
});

test("only the journals of processes that are gone are recovered; one is removed when all of it is committed", async () => {
  const { root, directory, journal } = await open();
  const [left, running] = [settlementOf(customer), settlementOf(customer)];
  journal.start(startOf(left));
  journal.end(left);
  const living = await openJournal({ root, holder: "two", onFailed: () => {} });
  living.start(startOf(running));
  // A process id that was used again: the start tells that its owner is gone.
  const owner: unknown = JSON.parse(await readFile(path.join(directory, "owner.json"), "utf8"));
  await writeFile(path.join(directory, "owner.json"), JSON.stringify(Object.assign({}, owner, { startMark: "1" })));

  const added: Settlement[] = [];
  const ended: string[] = [];
  const recovery = await recoverJournals({
    root,
    settler: { add: (settlement) => added.push(settlement) },
    endLeasesOf: async (holder) => ended.push(holder),
    log: createLog({ process: "test", level: "silent" }),
  });
  expect(added).toEqual([left]);
  expect(recovery.open).toBe(1);
  expect(ended).toEqual([]);
  recovery.committed([running, left]);
  expect(ended).toEqual(["one"]);
  await expect.poll(() => readdir(root)).toEqual(["two"]);
  await living.close();
});

test("a segment that ends in a torn record gives what came before", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer);
  journal.start(startOf(settlement));
  journal.end(settlement);
  const file = path.join(directory, "00000001.journal");
  await truncate(file, journal.bytes - 3);
  const { settlements, brokenBytes } = await readJournal(directory);
  expect(settlements).toEqual([expect.objectContaining({ requestId: settlement.requestId, outcome: "lost" })]);
  expect(brokenBytes).toBeGreaterThan(0);
});
