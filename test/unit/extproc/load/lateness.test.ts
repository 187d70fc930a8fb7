import { performance } from "node:perf_hooks";
import { setImmediate as nextTurn } from "node:timers/promises";
import { onTestFinished, expect, test } from "vitest";
import { startLateness } from "../../../../extproc/load/lateness.ts";
import { eventually } from "../../../support/eventually.ts";

const monotonic = { nowMs: () => performance.now() };

function spin(ms: number): void {
  const untilMs = performance.now() + ms;
  while (performance.now() < untilMs);
}

test("a loop that always has work is busy and late; one that waits is not busy", async () => {
  const lateness = startLateness(monotonic);
  onTestFinished(() => lateness.stop());
  for (let count = 0; count < 12; count++) {
    spin(100);
    // Not a timer: the loop would wait for it, on a slow machine for long.
    await nextTurn();
  }
  expect(lateness.busyPart).toBeGreaterThan(0.9);
  expect(lateness.meanMs).toBeGreaterThan(20);
  // A try that fails is work, too: most half seconds must be without one.
  await eventually(() => expect(lateness.busyPart).toBeLessThan(0.5), { everyMs: 1_000 });
});
