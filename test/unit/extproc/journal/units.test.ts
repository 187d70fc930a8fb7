import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { expect, test } from "vitest";
import { NO_USAGE } from "../../../../contract/usage.ts";
import { decodeRecord, encodeEnd, encodeRun, encodeStart } from "../../../../extproc/journal/record.ts";
import { readJournal } from "../../../../extproc/journal/read-journal.ts";
import { NO_DAMAGE, openTestJournal, startOf } from "../../../support/billing/journal.ts";
import { PRICE, settlementOf } from "../../../support/billing/ledger.ts";

const customer = { accountId: "acme", keyId: "key" };
const BY_SEARCH = { ...PRICE, unitPicoUsd: 2_000_000_000n };
const USAGE = { ...NO_USAGE, inputTokens: 100, units: 3 };

test("searches survive a crash before and after the answer has ended (S28)", async () => {
  const { directory, journal } = await openTestJournal();
  const ended = settlementOf(customer, { interface: "rerank", usage: USAGE, chargeNanoUsd: 6_030_000n });
  const running = settlementOf(customer, { interface: "rerank" });
  for (const settlement of [ended, running]) journal.start({ ...startOf(settlement), price: BY_SEARCH });
  journal.end(ended);
  journal.checkpoint({ requestId: running.requestId, usage: USAGE, durationMs: 1_000, firstTokenMs: null });

  const { settlements, damage } = await readJournal(directory);
  expect(damage).toEqual(NO_DAMAGE);
  expect(settlements).toEqual([
    ended,
    expect.objectContaining({
      requestId: running.requestId,
      outcome: "lost",
      isEstimated: true,
      usage: USAGE,
      chargeNanoUsd: 3n * 2_000_000n + 30_000n,
    }),
  ]);
});

test("the price of images, and what it was for, survive a crash after the answer has ended (S28)", async () => {
  const { directory, journal } = await openTestJournal();
  const ended = settlementOf(customer, {
    interface: "image_generation",
    usage: { ...NO_USAGE, units: 2 },
    unitPrice: { picoUsd: 160_000_000_000n, terms: "1024x1024, high" },
    chargeNanoUsd: 320_000_000n,
  });
  journal.start({ ...startOf(ended), price: { ...PRICE, unitPicoUsd: 250_000_000_000n } });
  journal.end(ended);
  expect((await readJournal(directory)).settlements).toEqual([ended]);
});

test("requests without units have the records of earlier versions, which can read them", async () => {
  const { directory, journal } = await openTestJournal();
  const settlement = settlementOf(customer);
  journal.start(startOf(settlement));
  journal.checkpoint({ requestId: settlement.requestId, usage: settlement.usage, durationMs: 1, firstTokenMs: null });
  journal.end(settlement);
  const [name = ""] = (await readdir(directory)).filter((file) => file.endsWith(".journal"));
  const text = (await readFile(path.join(directory, name))).toString("latin1");
  expect(text).toContain('["300000","30000","300000","1200000"]');
  expect(text).toContain("[100,0,0,50,10]");
  expect(text).not.toContain("unit");
});

test.for([
  ["a thousandfold", 1e9],
  ["negative", -1],
  ["a fraction", 0.5],
] as const)("a record whose units are %s is damage, not a charge (S39)", ([, units]) => {
  const written = encodeEnd(settlementOf(customer, { usage: { ...USAGE, units } }));
  expect(() => decodeRecord(written)).toThrow("units");
});

test("a record with a value too many is damage (S39)", () => {
  const start = encodeStart(encodeRun({ ...startOf(settlementOf(customer)), price: BY_SEARCH }));
  expect(decodeRecord(start)).toMatchObject({ type: "start", run: { price: BY_SEARCH } });
  expect(() => decodeRecord(start.replace('"2000000000"]', '"2000000000","1"]'))).toThrow("array");
});
