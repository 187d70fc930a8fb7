import { readdir } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { readJournal } from "../../../../extproc/journal/read-journal.ts";
import { NO_DAMAGE, openTestJournal as open, startOf } from "../../../support/billing/journal.ts";
import { settlementOf } from "../../../support/billing/ledger.ts";

const USAGE = { inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 0 };
const customer = { accountId: "acme", keyId: "key" };

test("an ended request is recovered unchanged, including bigints and dates", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer, { chargeNanoUsd: 2n ** 62n, leaseId: "lease", firstTokenMs: 12 });
  journal.start(startOf(settlement));
  journal.end(settlement);
  expect(await readJournal(directory)).toEqual({ settlements: [settlement], damage: NO_DAMAGE });
});

test("each value is restored to its own field", async () => {
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
    price: {
      inputPicoUsd: 1_000n,
      cachedInputPicoUsd: 100_000n,
      cacheWritePicoUsd: 10_000_000n,
      outputPicoUsd: 1_000_000_000n,
      unitPicoUsd: 0n,
    },
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

test("a request that was only started is lost and free; with a checkpoint it is charged as last recorded", async () => {
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

test("an answer of another server than the first is lost under that server's name", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer, { backend: "first", upstreamProtocol: "chat" });
  const { requestId } = settlement;
  journal.start(startOf(settlement));
  const answeredBy = { backend: "second", upstreamProtocol: "messages" } as const;
  journal.checkpoint({ requestId, usage: USAGE, durationMs: 10, firstTokenMs: null, answeredBy });
  expect((await readJournal(directory)).settlements).toMatchObject([{ ...answeredBy, outcome: "lost", usage: USAGE }]);
});

test("a segment is deleted when everything in it is committed, and not before", async () => {
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

test("beyond its cap nothing starts, and running requests can still end", async () => {
  const { journal, directory, failures } = await open({ maxBytes: 100, segmentBytes: 1 });
  const first = settlementOf(customer);
  journal.start(startOf(first));
  expect(() => journal.start(startOf(settlementOf(customer)))).toThrow(expect.objectContaining({ code: "billing_unavailable" }));
  journal.end(first);
  expect((await readJournal(directory)).settlements).toEqual([first]);
  expect(failures).toEqual([]);
  journal.committed([first]);
  journal.start(startOf(settlementOf(customer)));
});

test("a journal with open records remains when it is closed", async () => {
  const { journal, directory } = await open();
  const settlement = settlementOf(customer);
  journal.start(startOf(settlement));
  await journal.close();
  expect((await readJournal(directory)).settlements).toHaveLength(1);
});
