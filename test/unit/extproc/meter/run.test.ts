import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Usage } from "../../../../contract/usage.ts";
import { createMeter, type Meter } from "../../../../extproc/meter/meter.ts";
import type { Hold } from "../../../../extproc/credit/hold.ts";
import { chargeNanoUsd } from "../../../../ledger/money.ts";
import { PRICE } from "../../../support/billing/ledger.ts";
import { silentEvents, startTestRun, type TestRunOptions } from "../../../support/billing/run.ts";

const HELD = 1_000_000_000_000n;

/** A hold that covers everything, and counts its ends. */
function countedHold(): { hold: Hold; ends: () => number } {
  let ends = 0;
  const end = () => void (ends += 1);
  return {
    hold: { heldNanoUsd: () => HELD, cover: () => "covered", settle: () => (end(), "lease"), release: end },
    ends: () => ends,
  };
}

function start(options: Omit<TestRunOptions, "hold"> = {}) {
  const counted = countedHold();
  return { ...startTestRun({ hold: counted.hold, ...options }), ends: counted.ends };
}

describe("undelivered answers are free (S28, S38)", () => {
  test.for(["failed", "aborted", "truncated"] as const)("%s before a byte was sent, whatever the meter has seen", (outcome) => {
    const { run, settled, ends } = start();
    run.meter.produced("x".repeat(4_000));
    run.meter.report({ inputTokens: 900, outputTokens: 1_000 });
    expect(run.noteOutput(0)).toBe("continue");
    run.settle(outcome, 502);
    expect(settled).toMatchObject([
      { outcome, chargeNanoUsd: 0n, isEstimated: false, usage: { inputTokens: 0, outputTokens: 0 } },
    ]);
    expect(settled[0]?.firstTokenMs).toBeNull();
    expect(ends()).toBe(1);
  });

  test("bytes without content are free as well", () => {
    const { run, settled } = start();
    run.noteOutput(80);
    run.settle("failed", 200);
    expect(settled).toMatchObject([{ chargeNanoUsd: 0n }]);
  });

  test("delivered output of a failed answer is charged", () => {
    const { run, settled } = start();
    run.meter.produced("x".repeat(40));
    run.noteOutput(80);
    run.settle("failed", 200);
    expect(settled).toMatchObject([{ usage: { inputTokens: 100, outputTokens: 10 }, isEstimated: true }]);
  });
});

describe("an answer that a guardrail judges (S55)", () => {
  function judged() {
    const { run, settled } = start();
    run.meter.produced("x".repeat(40));
    run.noteOutput(0);
    run.judge();
    return { run, settled };
  }

  test.for(["aborted", "left"])("is charged to a client that leaves, although it has none of it: %s", (how) => {
    const { run, settled } = judged();
    if (how === "left") run.leave();
    else run.settle("aborted", 499);
    expect(settled).toMatchObject([{ outcome: "aborted", usage: { inputTokens: 100, outputTokens: 10 } }]);
  });

  test("is free if the gateway fails before any of it was delivered", () => {
    const { run, settled } = judged();
    run.settle("failed", 503);
    expect(settled).toMatchObject([{ outcome: "failed", chargeNanoUsd: 0n }]);
  });

  test("is charged once if it is refused, and its server is not blamed for the text behind its last report", () => {
    const anomalies: unknown[] = [];
    const { run, settled } = start({ events: { ...silentEvents(), usageAnomaly: (report) => void anomalies.push(report) } });
    run.meter.produced("x".repeat(40));
    run.meter.report({ inputTokens: 100, outputTokens: 10 });
    run.meter.produced("x".repeat(40));
    run.judge();
    run.refuse();
    run.settle("aborted", 499);
    expect(settled).toMatchObject([{ outcome: "complete", httpStatus: 400, usage: { outputTokens: 20 } }]);
    expect(anomalies).toEqual([]);
  });
});

describe("a request with the account's own key (S59)", () => {
  const fee = { requestPicoUsd: 5_000_000n, millionths: 100_000n };
  const withFee = () => start({ price: { ...PRICE, fee } });

  test("pays the fee for an answer, and nothing without one", () => {
    const { run, settled } = withFee();
    run.meter.report({ inputTokens: 100, outputTokens: 50 });
    run.noteOutput(80);
    expect(run.costNanoUsd()).toBe(5_000n + 9_000n);
    run.settle("complete", 200);
    expect(settled).toMatchObject([{ chargeNanoUsd: 14_000n, usage: { inputTokens: 100, outputTokens: 50 } }]);
    const failed = withFee();
    failed.run.settle("failed", 403);
    expect(failed.settled).toMatchObject([{ chargeNanoUsd: 0n }]);
  });
});

test("a request that another backend answers is settled once, under one number for all backends (S58)", () => {
  const { run, settled } = start();
  run.moveTo({ ...run.backend(), name: "second" });
  run.meter.report({ inputTokens: 100, outputTokens: 50 });
  run.noteOutput(80);
  run.settle("complete", 200);
  expect(settled).toMatchObject([{ backend: "second", attempt: 1 }]);
});

test("of a request in a batch, a failure without a charge leaves the first attempt to the answer (S58)", () => {
  const end = (outcome: "failed" | "complete", options: Omit<TestRunOptions, "hold">) => {
    const { run, settled } = start(options);
    run.settle(outcome, 200);
    return settled[0];
  };
  const batchRequestId = "01900000-0000-7000-8000-000000000000";
  expect(end("failed", { batchRequestId })).toMatchObject({ chargeNanoUsd: 0n, attempt: 2 });
  expect(end("complete", { batchRequestId })).toMatchObject({ attempt: 1 });
  expect(end("failed", {})).toMatchObject({ chargeNanoUsd: 0n, attempt: 1 });
});

describe("a client that hangs up before the first byte of the answer (S28)", () => {
  test("leaves its prompt for free within its account's allowance", () => {
    const { run, settled } = start({ departures: { forgives: () => true } });
    run.leave();
    expect(settled).toMatchObject([{ outcome: "aborted", httpStatus: 499, chargeNanoUsd: 0n, isEstimated: false }]);
  });

  test("pays for its prompt by our own count after that, and for nothing else", () => {
    const asked: [string, bigint][] = [];
    const forgives = (accountId: string, promptNanoUsd: bigint) => {
      asked.push([accountId, promptNanoUsd]);
      return false;
    };
    const { run, settled, ends } = start({ departures: { forgives } });
    run.meter.produced("x".repeat(40));
    run.leave();
    const usage = { ...usageOf(0), inputTokens: 100 };
    const chargeNanoUsdOfPrompt = chargeNanoUsd(usage, PRICE);
    expect(asked).toEqual([["acme", chargeNanoUsdOfPrompt]]);
    expect(settled).toMatchObject([{ outcome: "aborted", usage, isEstimated: true, chargeNanoUsd: chargeNanoUsdOfPrompt }]);
    expect(ends()).toBe(1);
  });

  test("pays nothing for a request of a batch, which is sent again under its id (S58)", () => {
    const batchRequestId = "01900000-0000-7000-8000-000000000000";
    const { run, settled } = start({ departures: { forgives: () => false }, batchRequestId });
    run.leave();
    expect(settled).toMatchObject([{ outcome: "aborted", chargeNanoUsd: 0n, attempt: 2 }]);
  });

  test("pays for its searches by our own count as well", () => {
    const meter = createMeter(0, { units: { likely: 3, max: 9 }, isTokenFree: true });
    const { run, settled } = start({
      departures: { forgives: () => false },
      meter,
      price: { ...PRICE, unitPicoUsd: 2_000_000_000n },
    });
    run.leave();
    expect(settled).toMatchObject([{ outcome: "aborted", usage: { units: 3 }, isEstimated: true, chargeNanoUsd: 6_000_000n }]);
  });

  test("an end that is not a departure is still free", () => {
    const { run, settled } = start({ departures: { forgives: () => false } });
    run.settle("aborted", 499);
    expect(settled).toMatchObject([{ chargeNanoUsd: 0n }]);
  });
});

describe("a run always ends, exactly once", () => {
  const fail = () => {
    throw new Error("out of order");
  };
  const events = silentEvents();
  const broken: [string, Omit<TestRunOptions, "hold">][] = [
    ["the meter", { meter: { ...createMeter(100), final: fail, anomalies: fail } }],
    ["a meter's numbers", { meter: { ...createMeter(100), final: () => ({ usage: usageOf(-1), isEstimated: false }) } }],
    ["the journal", { journal: { start() {}, checkpoint() {}, end: fail } }],
    ["the log", { events: { ...events, requestSettled: fail, usageAnomaly: fail } }],
    ["the watch", { runWatch: { begin: () => ({ noteAlive: () => 0, over: fail }) } }],
  ];

  test.for(broken)("although %s fails: its hold is freed, and it is settled", ([, options]) => {
    const { run, settled, ends } = start(options);
    run.settle("complete", 200);
    run.settle("aborted", 499);
    expect(ends()).toBe(1);
    expect(settled).toHaveLength(1);
    expect(settled[0]?.chargeNanoUsd).toBeGreaterThanOrEqual(0n);
    expect(run.settlement()).toBe(settled[0]);
  });

  test("although its hold fails", () => {
    const hold: Hold = { heldNanoUsd: () => HELD, cover: () => "covered", settle: fail, release: fail };
    const { run, settled } = startTestRun({ hold });
    run.meter.report({ inputTokens: 5, outputTokens: 5 });
    run.settle("complete", 200);
    expect(settled).toMatchObject([{ usage: { inputTokens: 5, outputTokens: 5 }, leaseId: null }]);
  });

  test("whatever is reported, produced and delivered in whatever order, it is settled once, at its usage's price (S28)", () => {
    const number = fc.oneof(fc.nat(500), fc.double(), fc.constantFrom(-1, 1e15, 9e15, 2 ** 53, Number.NaN, Infinity));
    const report = fc.record(
      { inputTokens: number, cachedInputTokens: number, cacheWriteTokens: number, outputTokens: number, reasoningTokens: number },
      { requiredKeys: [] },
    );
    const step = fc.oneof(
      report.map((usage) => (meter: Meter) => meter.report(usage)),
      fc.string({ maxLength: 200 }).map((text) => (meter: Meter) => meter.produced(text)),
    );
    const outcome = fc.constantFrom("complete", "failed", "aborted", "truncated", "stopped");
    fc.assert(
      fc.property(
        fc.array(fc.tuple(step, fc.nat(3)), { maxLength: 8 }),
        fc.array(outcome, { minLength: 1 }),
        (steps, outcomes) => {
          const { run, settled, ends } = start({ meter: createMeter(100, { tokens: 232_768 }) });
          for (const [play, deliveredBytes] of steps) {
            play(run.meter);
            run.noteOutput(deliveredBytes);
          }
          for (const each of outcomes) run.settle(each, 200);
          expect(settled).toHaveLength(1);
          expect(ends()).toBe(1);
          const [settlement] = settled;
          expect(settlement?.chargeNanoUsd).toBe(settlement === undefined ? undefined : chargeNanoUsd(settlement.usage, PRICE));
        },
      ),
      { numRuns: 300 },
    );
  });
});

describe("a stream is stopped with the first output that its hold does not cover", () => {
  test("whatever is produced and reported before", () => {
    const picoUsd = fc.bigInt({ min: 0n, max: 60_000_000n });
    const report = fc.record({ inputTokens: fc.nat(300), outputTokens: fc.nat(300) }, { requiredKeys: [] });
    const step = fc.oneof(
      { weight: 1, arbitrary: report.map((usage) => (meter: Meter) => meter.report(usage)) },
      { weight: 6, arbitrary: fc.string({ maxLength: 60 }).map((text) => (meter: Meter) => meter.produced(text)) },
    );
    const hold = (held: bigint): Hold => ({ heldNanoUsd: () => held, cover: () => "short", settle: () => null, release() {} });
    fc.assert(
      fc.property(
        fc.record({ inputPicoUsd: picoUsd, outputPicoUsd: fc.oneof(picoUsd, fc.bigInt({ min: 0n, max: 900n })) }),
        fc.oneof(fc.bigInt({ min: 0n, max: 20_000_000n }), fc.bigInt({ min: 0n, max: 200n })),
        fc.array(step, { maxLength: 60 }),
        (tokenPrice, held, steps) => {
          const price = { ...tokenPrice, cachedInputPicoUsd: 0n, cacheWritePicoUsd: 0n, unitPicoUsd: 0n };
          const meter = createMeter(10, { tokens: 232_768 });
          const { run } = startTestRun({ hold: hold(held), meter, price });
          for (const play of steps) {
            play(meter);
            const isCovered = meter.outputBytes() === 0 || chargeNanoUsd(meter.final().usage, price) <= held;
            expect(run.noteOutput(1)).toBe(isCovered ? "continue" : "stop");
          }
        },
      ),
      { numRuns: 500 },
    );
  });
});

function usageOf(outputTokens: number): Usage {
  return { inputTokens: 1, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens, reasoningTokens: 0 };
}
