import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import type { Checkpoint } from "../../../../extproc/journal/record.ts";
import { startRunWatch, type RunWatch } from "../../../../extproc/meter/run-watch.ts";
import { createWallet } from "../../../../extproc/credit/wallet.ts";
import { createLog } from "../../../../runtime/log.ts";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { startTestRun } from "../../../support/billing/run.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const MINUTE_MS = 60_000;
const log = createLog({ process: "test", level: "silent" });
const clock = { nowMs: () => Date.now() };

function startWatch(): RunWatch {
  const watch = startRunWatch({ clock: { nowMs: () => performance.now() }, log });
  onTestFinished(() => watch.stop());
  return watch;
}

test("a run that is silent for an hour is abandoned, once; one that is active, or has ended, is not", () => {
  const watch = startWatch();
  const givenUp: string[] = [];
  const begin = (requestId: string) => watch.begin({ requestId, abandon: () => givenUp.push(requestId) });
  begin("silent");
  const alive = begin("alive");
  begin("ended").over();
  vi.advanceTimersByTime(59 * MINUTE_MS);
  alive.noteAlive();
  expect(givenUp).toEqual([]);
  vi.advanceTimersByTime(30 * MINUTE_MS);
  expect(givenUp).toEqual(["silent"]);
  vi.advanceTimersByTime(60 * MINUTE_MS);
  expect(givenUp).toEqual(["silent", "alive"]);
});

test("a run that cannot be abandoned does not block the others", () => {
  const watch = startWatch();
  const givenUp: string[] = [];
  watch.begin({
    requestId: "first",
    abandon() {
      throw new Error("a bug");
    },
  });
  watch.begin({ requestId: "second", abandon: () => givenUp.push("second") });
  vi.advanceTimersByTime(61 * MINUTE_MS);
  expect(givenUp).toEqual(["second"]);
  expect(watch.sweep()).toBe(0);
});

/** A run on an account of 1,000,000 nano-USD, all of which it holds. */
async function startWatchedRun() {
  const checkpoints: Checkpoint[] = [];
  const wallet = createWallet({
    accountId: "acme",
    bank: {
      ttlMs: 90_000,
      minNanoUsd: 1n,
      grow: async () => ({
        isOpen: true,
        addedNanoUsd: 1_000_000n,
        grantedNanoUsd: 1_000_000n,
        spendableNanoUsd: 1_000_000n,
        freeNanoUsd: 0n,
        leasedByOthersNanoUsd: 0n,
      }),
      giveBack: async () => {},
      shrink: async () => {},
    },
    clock,
    newLeaseId: () => "lease",
    topUpUrl: "https://example.test/dashboard",
    onLeased: () => {},
    onLeaseFailed: () => {},
  });
  const hold = await wallet.admit(sizeOf(1_000_000n), new AbortController().signal);
  const { run, settled } = startTestRun({
    hold,
    runWatch: startWatch(),
    journal: { start() {}, checkpoint: (checkpoint) => checkpoints.push(checkpoint), end() {} },
  });
  return { run, wallet, settled, checkpoints };
}

test("a run that never ends is charged for its output, flagged as lost, and its hold is freed (S30)", async () => {
  const { run, wallet, settled } = await startWatchedRun();
  run.meter.produced("x".repeat(40));
  expect(run.noteOutput(40)).toBe("continue");
  expect(wallet.heldNanoUsd).toBe(1_000_000n);
  vi.advanceTimersByTime(61 * MINUTE_MS);
  expect(wallet.heldNanoUsd).toBe(0n);
  expect(wallet.holds).toBe(0);
  expect(settled).toMatchObject([
    {
      outcome: "lost",
      httpStatus: 504,
      isEstimated: true,
      usage: { inputTokens: 100, outputTokens: 10 },
      chargeNanoUsd: 42_000n,
    },
  ]);
  // It comes back to life: nothing more is let through, and nothing is charged twice.
  expect(run.noteOutput(40)).toBe("stop");
  run.settle("complete", 200);
  expect(settled).toHaveLength(1);
});

test("a run that never ends and produced nothing is free", async () => {
  const { settled } = await startWatchedRun();
  vi.advanceTimersByTime(61 * MINUTE_MS);
  expect(settled).toMatchObject([{ outcome: "lost", chargeNanoUsd: 0n, isEstimated: false }]);
});

test("a clock that is set back an hour does not pause checkpoints (S39)", async () => {
  const { run, checkpoints } = await startWatchedRun();
  const produceFor = (seconds: number) => {
    for (let second = 0; second < seconds; second++) {
      run.meter.produced("text");
      run.noteOutput(40);
      vi.advanceTimersByTime(1_000);
    }
  };
  produceFor(3);
  vi.setSystemTime(Date.now() - 3_600_000);
  produceFor(3);
  expect(checkpoints.map(({ usage }) => usage.outputTokens)).toEqual([1, 2, 3, 4, 5, 6]);
});
