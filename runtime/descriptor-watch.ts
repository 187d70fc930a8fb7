import { open } from "node:fs/promises";
import { Gauge, type Registry } from "prom-client";
import type { Logger } from "./log.ts";
import { createOutage } from "./outage.ts";
import { startRounds, type Rounds } from "./wait.ts";

const LOOK_EVERY_MS = 1_000;

/**
 * Reports that this process has no file descriptor left. Nothing else reports it: libuv closes connections that it cannot accept,
 * without calling back.
 */
export function watchDescriptors({ log, metrics }: { log: Logger; metrics: Registry }): Rounds {
  const outage = createOutage({
    log,
    failing: "there are no file descriptors left; new connections are refused",
    over: "there are file descriptors again",
  });
  const exhausted = new Gauge({
    name: "gateway_descriptors_exhausted",
    help: "1 while the process has no file descriptors left and refuses connections.",
    registers: [metrics],
    aggregator: "max",
  });

  async function look(): Promise<void> {
    const file = await open("/dev/null");
    await file.close();
    exhausted.set(0);
    outage.over();
  }

  function failed(error: unknown): void {
    exhausted.set(1);
    outage.failed(error);
  }

  return startRounds(look, { everyMs: LOOK_EVERY_MS, onFailure: failed });
}
