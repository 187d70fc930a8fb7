import { Registry } from "prom-client";
import { createEvents, type Events } from "../../../extproc/events.ts";
import { createMeter, type Meter } from "../../../extproc/meter/meter.ts";
import { startRun, type Run, type RunDeps } from "../../../extproc/meter/run.ts";
import type { RunWatch } from "../../../extproc/meter/run-watch.ts";
import type { Hold } from "../../../extproc/credit/hold.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { createLog } from "../../../runtime/log.ts";
import type { Price } from "../../../ledger/money.ts";
import { catalogueModel, PRICE } from "./ledger.ts";
import { worldKey } from "./world-key.ts";

export interface TestRunOptions extends Partial<Omit<RunDeps, "runWatch">> {
  hold: Hold;
  meter?: Meter;
  price?: Price;
  /** Of a batch; otherwise a client's. */
  batchRequestId?: string;
  runWatch?: Pick<RunWatch, "begin">;
}

/** A run without Envoy and a database, on a hold of the caller's. */
export function startTestRun({ hold, meter = createMeter(100), price = PRICE, batchRequestId, ...options }: TestRunOptions): {
  run: Run;
  settled: Settlement[];
} {
  const settled: Settlement[] = [];
  const model = catalogueModel("modelx-v4-pro");
  const [backend] = model.backends;
  if (backend === undefined) throw new Error("the model has a backend");
  const clock = { nowMs: () => Date.now() };
  const run = startRun(
    {
      requestId: "01900000-0000-7000-8000-000000000000",
      caller: {
        key: worldKey(),
        account: {
          accountId: "acme",
          isSuspended: false,
          postedNanoUsd: 1_000_000n,
          overdraftNanoUsd: 0n,
          version: 1n,
          limits: {},
        },
        ...(batchRequestId !== undefined && { batchRequestId }),
      },
      model: { ...model, notice: {}, price: { ...price, id: 1n, version: 1, schedule: [], batch: null } },
      backend,
      protocol: "chat",
      isStream: true,
      startedMs: clock.nowMs(),
      meter,
      reservation: { hold, outputTokens: 1_000, limited: { headers: {}, end() {}, cancel() {} } },
    },
    {
      clock,
      events: silentEvents(),
      settler: { add: (settlement) => settled.push(settlement) },
      journal: { start() {}, checkpoint() {}, end() {} },
      departures: { forgives: () => true },
      runWatch: { begin: () => ({ noteAlive: () => 0, over() {} }) },
      ...options,
    },
  );
  return { run, settled };
}

/** Events that go nowhere. */
export function silentEvents(): Events {
  const log = createLog({ process: "test", level: "silent" });
  return createEvents({ log, accessLog: "all", metrics: new Registry() });
}
