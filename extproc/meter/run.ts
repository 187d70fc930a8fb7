import type { Backend } from "../../contract/catalogue.ts";
import type { Interface } from "../../contract/protocol.ts";
import { NO_USAGE, type Usage } from "../../contract/usage.ts";
import { chargeNanoUsd } from "../../ledger/money.ts";
import type { Settlement } from "../../ledger/settle.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { Events } from "../events.ts";
import type { Journal } from "../journal/journal.ts";
import type { Checkpoint } from "../journal/record.ts";
import type { WorldModel } from "../world/world.ts";
import { FIRST_STRETCH_TOKENS } from "./hold-size.ts";
import type { Meter } from "./meter.ts";
import { release, type Reservation } from "./reservation.ts";
import type { RunWatch } from "./run-watch.ts";

type Outcome = Exclude<Settlement["outcome"], "lost">;

/** One request upstream, from the moment it is sent: it is settled exactly once, however many backends it tries. */
export interface Run {
  readonly model: WorldModel;
  backend(): Backend;
  readonly meter: Meter;
  /** Null until it is settled. */
  settlement(): Settlement | null;
  /** Another backend answers: the one that is written down. */
  moveTo(backend: Backend): void;
  /** What was left of the caller's limits when it began, for the response. */
  readonly limitHeaders: Readonly<Record<string, string>>;
  /**
   * Something was passed to the client: marks the time to the first token once, notes what was used now and then, and
   * keeps the hold ahead of it. "stop": credit has run out, and the stream must end here.
   */
  noteOutput(): "go_on" | "stop";
  /** The first call counts, later ones are no news: `closed` comes after every end. */
  settle(outcome: Outcome, httpStatus: number): void;
}

export interface RunStart {
  requestId: string;
  caller: Caller;
  model: WorldModel;
  backend: Backend;
  protocol: Interface;
  isStream: boolean;
  startedMs: number;
  meter: Meter;
  /** Ends with the run. */
  reservation: Reservation;
}

export interface RunDeps {
  clock: { nowMs(): number };
  events: Events;
  settler: { add(settlement: Settlement): void };
  journal: Pick<Journal, "start" | "checkpoint" | "end">;
  runWatch: Pick<RunWatch, "begin">;
}

const CHECKPOINT_MS = 1_000;
/** The hold is extended so many stretches beyond what was used. */
const STRETCHES_AHEAD = 4n;

/** @throws GatewayError `billing_unavailable` where the journal takes nothing more; hold and limits are freed then. */
export function startRun(start: RunStart, { clock, events, settler, journal, runWatch }: RunDeps): Run {
  const { requestId, caller, model, meter, startedMs, reservation } = start;
  let { backend } = start;
  const { hold, limited } = reservation;
  // How far a stream may be ahead of its hold while more credit is asked for: one stretch of output (docs/billing.md).
  const stretchNanoUsd = chargeNanoUsd({ ...NO_USAGE, outputTokens: FIRST_STRETCH_TOKENS }, model.price);
  let firstTokenMs: number | null = null;
  let checkpointMs: number | null = null;
  let isSettled = false;
  let settled: Settlement | null = null;
  let isGivenUp = false;
  let answeredBy: Checkpoint["answeredBy"];

  const facts = {
    requestId,
    attempt: 1,
    accountId: caller.account.accountId,
    keyId: caller.key.publicId,
    model: model.name,
    interface: start.protocol,
    upstreamProtocol: backend.protocol,
    backend: backend.name,
    priceVersionId: model.price.id,
    isStream: start.isStream,
    startedAt: new Date(startedMs),
  };
  try {
    const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd } = model.price;
    journal.start({ ...facts, price: { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd } });
  } catch (error) {
    release(reservation);
    throw error;
  }
  const life = runWatch.begin({
    requestId,
    giveUp() {
      isGivenUp = true;
      end("lost", 504);
    },
  });

  /** By a clock that nobody sets: one that is set back an hour would leave an hour without a checkpoint. */
  function noteCheckpoint(aliveMs: number): void {
    if (checkpointMs !== null && aliveMs - checkpointMs < CHECKPOINT_MS) return;
    checkpointMs = aliveMs;
    const durationMs = clock.nowMs() - startedMs;
    journal.checkpoint({ requestId, usage: meter.final().usage, durationMs, firstTokenMs, answeredBy });
  }

  function moveTo(other: Backend): void {
    if (other === backend) return;
    backend = other;
    answeredBy = { backend: other.name, upstreamProtocol: other.protocol };
    journal.checkpoint({ requestId, usage: NO_USAGE, durationMs: clock.nowMs() - startedMs, firstTokenMs, answeredBy });
  }

  function keepAhead(): "go_on" | "stop" {
    const usedNanoUsd = chargeNanoUsd(meter.final().usage, model.price);
    if (usedNanoUsd + stretchNanoUsd <= hold.heldNanoUsd()) return "go_on";
    const covered = hold.cover(usedNanoUsd + STRETCHES_AHEAD * stretchNanoUsd);
    if (covered === "covered" || usedNanoUsd < hold.heldNanoUsd()) return "go_on";
    const isBeyondSlack = usedNanoUsd >= hold.heldNanoUsd() + stretchNanoUsd;
    return covered === "short" || isBeyondSlack ? "stop" : "go_on";
  }

  function end(outcome: Settlement["outcome"], httpStatus: number): void {
    if (isSettled) return;
    isSettled = true;
    life.over();
    // An upstream that failed before its first token costs nothing (S28).
    const isFree = outcome !== "complete" && !meter.hasOutput();
    const { usage, isEstimated } = isFree ? { usage: { ...NO_USAGE }, isEstimated: false } : meter.final();
    // The price is the one read at admission: this object was not changed since (S28).
    const charge = chargeNanoUsd(usage, model.price);
    const settlement: Settlement = {
      ...facts,
      ...answeredBy,
      usage,
      isEstimated,
      chargeNanoUsd: charge,
      leaseId: hold.settle(charge),
      httpStatus,
      outcome,
      durationMs: clock.nowMs() - startedMs,
      firstTokenMs,
    };
    settled = settlement;
    limited.end({ tokens: countTokens(usage), nanoUsd: charge });
    journal.end(settlement);
    settler.add(settlement);
    events.requestSettled(settlement);
  }

  return {
    model,
    backend: () => backend,
    meter,
    settlement: () => settled,
    moveTo,
    limitHeaders: limited.headers,
    noteOutput() {
      const aliveMs = life.noteAlive();
      // Nobody would count what it goes on to produce.
      if (isGivenUp) return "stop";
      if (isSettled || !meter.hasOutput()) return "go_on";
      firstTokenMs ??= clock.nowMs() - startedMs;
      noteCheckpoint(aliveMs);
      return keepAhead();
    },
    settle: end,
  };
}

function countTokens({ inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens }: Usage): number {
  return inputTokens + cachedInputTokens + cacheWriteTokens + outputTokens;
}
