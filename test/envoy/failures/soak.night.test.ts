import { afterAll, beforeAll, expect, test } from "vitest";
import { soak } from "../../support/stacks/soak-load.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/**
 * Envoy's resets against Node's HTTP/2 guard break a connection about every thousand requests (docs/architecture.md). What
 * the load costs in memory and collections is for `npm run bench:soak`: a test would measure the machine.
 */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000n });
});
afterAll(() => stack.stop());

const WARM_UP = { requests: 500, streams: 100 };
const LOAD = { requests: 20_000, streams: 2_000 };
/** Idle connections to the database, and the one that asks for metrics, come and go. */
const SPARE_HANDLES = 8;

test(
  "thousands of concurrent requests, complete and streamed: all succeed, nothing is left open, everything is charged once",
  {
    timeout: 1_200_000,
  },
  async () => {
    await soak(stack, WARM_UP);
    const before = await handlesAtRest();
    expect(await soak(stack, LOAD)).toEqual({ whole: { "200": LOAD.requests }, streamed: { "200 ended": LOAD.streams } });
    expect(await handlesAtRest()).toBeLessThanOrEqual(before + SPARE_HANDLES);

    expect(await stack.countUsage()).toBe(WARM_UP.requests + WARM_UP.streams + LOAD.requests + LOAD.streams);
    expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
    expect(stack.complaints).toEqual([]);
  },
);

/** Open sockets and timers of extproc when it carries no request and holds no credit. */
async function handlesAtRest(): Promise<number> {
  const metrics = await stack.idle();
  expect(metrics.get("gateway_open_holds")).toBe(0);
  return metrics.get("nodejs_active_handles_total") ?? Infinity;
}
