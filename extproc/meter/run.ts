import type { Backend } from "../../contract/catalogue.ts";
import { ERRORS } from "../../contract/errors.ts";
import type { Label } from "../../contract/labels.ts";
import { isInputInterface, type Interface } from "../../contract/protocol.ts";
import { NO_USAGE, totalTokensOf } from "../../contract/usage.ts";
import { chargeNanoUsd, coveredPicoUsd, type Price } from "../../ledger/money.ts";
import { attemptOf, type Outcome, type Settlement } from "../../ledger/settlement/settlement.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { Events } from "../events.ts";
import type { Journal } from "../journal/journal.ts";
import type { Checkpoint } from "../journal/record.ts";
import type { WorldModel } from "../world/world.ts";
import type { Departures } from "../credit/departures.ts";
import { STRETCH_TOKENS } from "../credit/hold-size.ts";
import { bytesWithin, type Meter, type MeteredUsage } from "./meter.ts";
import { release, type Reservation } from "../credit/reservation.ts";
import { providerOf } from "../route/provider-key.ts";
import type { RunWatch } from "./run-watch.ts";

/** One request upstream, from the moment it is sent: it is settled exactly once, however many backends it tries. */
export interface Run {
  readonly model: WorldModel;
  backend(): Backend;
  readonly meter: Meter;
  /** Null until it is settled. */
  settlement(): Settlement | null;
  /** What it costs: as settled, else by what was used so far. */
  costNanoUsd(): bigint;
  /** Another backend answers: it is the recorded one. */
  moveTo(backend: Backend): void;
  /** The caller's remaining limits when it began, for the response. */
  readonly limitHeaders: Readonly<Record<string, string>>;
  /**
   * A piece of the answer arrived, of which this many bytes go to the client: records the time to the first token once, and usage
   * periodically, and keeps the hold ahead of it. "stop": credit has run out, and the stream must end here.
   */
  noteOutput(deliveredBytes: number): "continue" | "stop";
  /** The first call counts, later ones have no effect: `closed` follows every end. */
  settle(outcome: Outcome, httpStatus: number): void;
  /** A guardrail judges the answer: a client that leaves meanwhile pays for what was produced, as if it had been delivered. */
  judge(): void;
  /**
   * The guardrail refuses it: settled as complete, because its model server has done its work, with the status of a refusal, also
   * if a stream has begun with another one.
   */
  refuse(): void;
  /** The client has hung up while a server was processing its prompt, before the first byte of an answer. */
  leave(): void;
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
  /** Empty where the account keeps none. */
  labels?: readonly Label[];
}

export interface RunDeps {
  clock: { nowMs(): number };
  events: Events;
  settler: { add(settlement: Settlement): void };
  journal: Pick<Journal, "start" | "checkpoint" | "end">;
  runWatch: Pick<RunWatch, "begin">;
  departures: Departures;
}

/** The charge of a request. */
type Bill = Pick<Settlement, "usage" | "isEstimated" | "unitPrice" | "chargeNanoUsd">;

const CHECKPOINT_MS = 1_000;
/** The hold is extended this many steps beyond the usage. */
const STRETCHES_AHEAD = 4n;

/** @throws GatewayError `billing_unavailable` if the journal accepts nothing more; hold and limits are freed then. */
export function startRun(start: RunStart, deps: RunDeps): Run {
  const { clock, events, settler, journal, runWatch, departures } = deps;
  const { requestId, caller, model, meter, startedMs, reservation, labels = [] } = start;
  let { backend } = start;
  const { hold, limited } = reservation;
  const isByRequest = isInputInterface(start.protocol);
  // How far a stream may be ahead of its hold while more credit is requested: one step of output (docs/billing.md).
  const furtherPrice = furtherPriceOf(model.price);
  const stretchNanoUsd = chargeNanoUsd({ ...NO_USAGE, outputTokens: STRETCH_TOKENS }, furtherPrice);
  let firstTokenMs: number | null = null;
  let checkpointMs: number | null = null;
  let isSettled = false;
  let settled: Settlement | null = null;
  let isGivenUp = false;
  let isDelivered = false;
  let isJudged = false;
  /** The server's last report may precede the text that was refused. */
  let isRefused = false;
  let hasLeft = false;
  let answeredBy: Checkpoint["answeredBy"];
  /** Up to this output, and without another report, the hold covers the charge. */
  let coveredBytes = -1;
  let coveredReports = -1;

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
    ...(caller.batchRequestId !== undefined && { isBatch: true }),
    ...(labels.length > 0 && { labels }),
  };
  try {
    const { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd, fee } = model.price;
    const price = { inputPicoUsd, cachedInputPicoUsd, cacheWritePicoUsd, outputPicoUsd, unitPicoUsd, ...(fee && { fee }) };
    journal.start({ ...facts, ...providedBy(backend), price });
  } catch (error) {
    release(reservation);
    throw error;
  }
  const life = runWatch.begin({
    requestId,
    abandon() {
      isGivenUp = true;
      end("lost", 504);
    },
  });

  /** By a clock that cannot be set: setting it back an hour would leave an hour without a checkpoint. */
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

  function keepAhead(): "continue" | "stop" {
    // A price per chunk would cost more than the chunk's translation.
    if (meter.outputBytes() <= coveredBytes && meter.reports() === coveredReports) return "continue";
    const usedNanoUsd = chargeNanoUsd(meter.final().usage, model.price);
    const freeNanoUsd = hold.heldNanoUsd() - usedNanoUsd;
    coveredReports = meter.reports();
    coveredBytes = freeNanoUsd < 0n ? -1 : meter.outputBytes() + bytesWithin(affordableTokens(freeNanoUsd));
    // The hold covers the limit that was sent: only a server that ignores it gets this far.
    if (freeNanoUsd >= 0n) return "continue";
    const covered = hold.cover(usedNanoUsd + STRETCHES_AHEAD * stretchNanoUsd);
    if (covered === "covered") return "continue";
    const isBeyondSlack = usedNanoUsd >= hold.heldNanoUsd() + stretchNanoUsd;
    return covered === "short" || isBeyondSlack ? "stop" : "continue";
  }

  /** A hold never shrinks while its request runs. */
  function affordableTokens(freeNanoUsd: bigint): number {
    const { outputPicoUsd } = model.price;
    if (freeNanoUsd === 0n) return 0;
    // The charge so far may have been rounded down.
    const coveredByIt = coveredPicoUsd(freeNanoUsd - 1n, furtherPrice);
    return coveredByIt === null || outputPicoUsd === 0n ? Infinity : Number(coveredByIt / outputPicoUsd);
  }

  /** No server report may prevent a request from being settled, or its hold from being freed. */
  function end(outcome: Settlement["outcome"], httpStatus: number): void {
    if (isSettled) return;
    isSettled = true;
    guard(() => life.over());
    const bill = draw(outcome);
    const settlement: Settlement = {
      ...facts,
      ...answeredBy,
      ...providedBy(backend),
      ...bill,
      attempt: attemptOf({ ...facts, ...bill, outcome }),
      leaseId: guard(() => hold.settle(bill.chargeNanoUsd)) ?? null,
      httpStatus,
      outcome,
      durationMs: clock.nowMs() - startedMs,
      firstTokenMs,
    };
    settled = settlement;
    guard(() => limited.end({ tokens: totalTokensOf(bill.usage), nanoUsd: bill.chargeNanoUsd }));
    guard(() => journal.end(settlement));
    guard(() => settler.add(settlement));
    guard(() => events.requestSettled(settlement));
    guard(() => noteAnomalies(outcome));
    guard(noteUnknownReason);
  }

  function draw(outcome: Settlement["outcome"]): Bill {
    // Undelivered answers are free, whatever the upstream reports (S28, S38).
    const isFree = outcome !== "complete" && !isOwed(outcome);
    const nothing = { usage: { ...NO_USAGE }, isEstimated: false, chargeNanoUsd: 0n };
    // A batch's client is the gateway, which sends the request again: an abandoned prompt would be all that it is charged for.
    if (isFree) return (hasLeft && caller.batchRequestId === undefined ? guard(drawPrompt) : undefined) ?? nothing;
    // The price was read at admission: this object has not changed since (S28).
    const bill = guard(() => {
      const metered = meter.final();
      return { ...metered, chargeNanoUsd: chargeNanoUsd(metered.usage, priceOf(metered)) };
    });
    return bill ?? { ...nothing, isEstimated: true };
  }

  /** Speech is paid as it was requested: whole by a client that leaves it half-way, and not at all if its server does. */
  function isOwed(outcome: Settlement["outcome"]): boolean {
    const isOut = isDelivered || (isJudged && outcome === "aborted");
    return isOut && (isByRequest ? outcome === "aborted" : meter.outputBytes() > 0);
  }

  function priceOf({ unitPrice }: MeteredUsage): Price {
    return unitPrice === undefined ? model.price : { ...model.price, unitPicoUsd: unitPrice.picoUsd };
  }

  function costSoFar(): bigint {
    const metered = meter.final();
    return chargeNanoUsd(metered.usage, priceOf(metered));
  }

  /** The prompt that a client has abandoned; undefined if its account's allowance covers it (docs/decisions/0003). */
  function drawPrompt(): Bill | undefined {
    const metered = meter.final();
    const usage = { ...metered.usage, outputTokens: 0, reasoningTokens: 0 };
    const promptNanoUsd = chargeNanoUsd(usage, priceOf(metered));
    if (departures.forgives(facts.accountId, promptNanoUsd)) return undefined;
    return { ...metered, usage, isEstimated: true, chargeNanoUsd: promptNanoUsd };
  }

  function noteAnomalies(outcome: Settlement["outcome"]): void {
    for (const anomaly of meter.anomalies()) {
      // A cut stream has no last report.
      if (anomaly === "stale" && (outcome !== "complete" || isRefused)) continue;
      events.usageAnomaly({ requestId, model: model.name, backend: backend.name, anomaly });
    }
  }

  function noteUnknownReason(): void {
    const reason = meter.unknownReason();
    if (reason !== null) events.stopReasonUnknown({ requestId, model: model.name, backend: backend.name, reason });
  }

  function guard<Value>(step: () => Value): Value | undefined {
    try {
      return step();
    } catch (error) {
      events.exchangeFailed({ requestId, error });
      return undefined;
    }
  }

  return {
    model,
    backend: () => backend,
    meter,
    settlement: () => settled,
    costNanoUsd: () => settled?.chargeNanoUsd ?? costSoFar(),
    moveTo,
    limitHeaders: limited.headers,
    noteOutput(deliveredBytes) {
      const aliveMs = life.noteAlive();
      isDelivered ||= deliveredBytes > 0;
      // Its further output would not be counted.
      if (isGivenUp) return "stop";
      if (isSettled) return "continue";
      if (isByRequest && isDelivered) firstTokenMs ??= clock.nowMs() - startedMs;
      if (meter.outputBytes() === 0) return "continue";
      if (isDelivered) {
        firstTokenMs ??= clock.nowMs() - startedMs;
        noteCheckpoint(aliveMs);
      }
      return keepAhead();
    },
    settle: end,
    judge: () => void (isJudged = true),
    refuse() {
      isRefused = true;
      end("complete", ERRORS.content_refused.status);
    },
    leave() {
      hasLeft = true;
      end("aborted", 499);
    },
  };
}

function providedBy(backend: Backend): Pick<Settlement, "providerKey"> {
  const providerKey = providerOf(backend);
  return providerKey === undefined ? {} : { providerKey };
}

/** What more tokens cost: the fixed part of a fee is owed once. */
function furtherPriceOf(price: Price): Price {
  return price.fee === undefined ? price : { ...price, fee: { ...price.fee, requestPicoUsd: 0n } };
}
