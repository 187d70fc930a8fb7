import type { Backend } from "../../contract/catalogue.ts";
import type { Protocol } from "../../contract/protocol.ts";
import { NO_USAGE } from "../../contract/usage.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";
import type { Settlement } from "../../ledger/settle.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { Events } from "../events.ts";
import type { WorldModel } from "../world/world.ts";
import type { Meter } from "./meter.ts";

type Outcome = Settlement["outcome"];

/** One attempt at an upstream, from the moment its request is sent: it is settled exactly once. */
export interface Run {
  readonly model: WorldModel;
  readonly backend: Backend;
  readonly meter: Meter;
  /** Something was passed to the client: marks the time to the first token once. */
  noteOutput(): void;
  /** The first call counts, later ones are no news: `closed` comes after every end. */
  settle(outcome: Outcome, httpStatus: number): void;
}

export interface RunStart {
  requestId: string;
  caller: Caller;
  model: WorldModel;
  backend: Backend;
  protocol: Protocol;
  isStream: boolean;
  startedMs: number;
  meter: Meter;
}

export interface RunDeps {
  clock: { nowMs(): number };
  events: Events;
  settler: { add(settlement: Settlement): void };
}

export function startRun(start: RunStart, { clock, events, settler }: RunDeps): Run {
  const { caller, model, backend, meter, startedMs } = start;
  let firstTokenMs: number | null = null;
  let isSettled = false;

  return {
    model,
    backend,
    meter,
    noteOutput() {
      if (firstTokenMs === null && meter.hasOutput) firstTokenMs = clock.nowMs() - startedMs;
    },
    settle(outcome, httpStatus) {
      if (isSettled) return;
      isSettled = true;
      // An upstream that failed before its first token costs nothing (S28).
      const isFree = outcome !== "complete" && !meter.hasOutput;
      const { usage, isEstimated } = isFree ? { usage: { ...NO_USAGE }, isEstimated: false } : meter.final();
      const settlement: Settlement = {
        requestId: start.requestId,
        attempt: 1,
        accountId: caller.account.accountId,
        keyId: caller.key.publicId,
        model: model.name,
        interface: start.protocol,
        upstreamProtocol: backend.protocol,
        backend: backend.name,
        priceVersionId: model.price.id,
        usage,
        isEstimated,
        // The price is the one read at admission: this object was not changed since (S28).
        chargeNanoUsd: chargeNanoUsd(usage, model.price),
        leaseId: null,
        httpStatus,
        outcome,
        isStream: start.isStream,
        startedAt: new Date(startedMs),
        durationMs: clock.nowMs() - startedMs,
        firstTokenMs,
      };
      settler.add(settlement);
      events.requestSettled(settlement);
    },
  };
}
