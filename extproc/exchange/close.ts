import type { GatewayError } from "../../contract/errors.ts";
import { isInputInterface } from "../../contract/protocol.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import type { Run } from "../meter/run.ts";
import type { StreamOutcome } from "../translate/translation.ts";
import { fail } from "./interrupt.ts";
import { noteFailure } from "./refuse.ts";

interface Ending {
  /** Envoy has ended the stream; false if it was reset, or the connection to Envoy broke. */
  isEnded: boolean;
  isConnected(): boolean;
}

/**
 * Phase 5: Envoy's stream is over. Everything that the request has taken is returned, and tokens produced before the client left,
 * or the model server broke off, are charged (S28).
 */
export function close(context: ExchangeContext, ending: Ending): void {
  context.client.aborted = true;
  for (const each of context.closers.splice(0)) each();
  if (context.forwarded === undefined) context.deps.brokenAnswers.forget(context.requestId);
  else end(context, context.forwarded, ending);
}

function end(context: ExchangeContext, forwarded: Forwarded, { isEnded, isConnected }: Ending): void {
  const { run, answer } = forwarded;
  const { brokenAnswers } = context.deps;
  /** Its client has not left it: Envoy has stopped, or died. Speech is paid whole or not at all. */
  const isLost = () => isInputInterface(context.protocol) && !isConnected();
  if (forwarded.blameServer !== null) {
    // The client has received its end. Envoy's report may arrive slightly later.
    if (run.settlement() === null) brokenAnswers.judge(context.requestId, forwarded.blameServer);
    return;
  }
  // A client may hang up on the last event, before the upstream closes: that is not an abort.
  const stream = answer?.kind === "stream" ? answer.stream : null;
  const outcome = stream?.outcome() ?? "open";
  if (run.settlement() !== null || outcome !== "open" || !isEnded) {
    brokenAnswers.forget(context.requestId);
    if (outcome !== "open") settle(context, run, outcome, stream?.failure() ?? null);
    else if (isLost()) lose(run);
    else run.settle("aborted", 499);
    return;
  }
  const leave = () => (isLost() ? lose(run) : run.leave());
  const isBroken = forwarded.isBroken || isReported(forwarded);
  if (answer !== null && !isBroken) return brokenAnswers.judge(context.requestId, leave);
  brokenAnswers.forget(context.requestId);
  if (isBroken) fail(context, forwarded);
  // Envoy answers itself for an upstream that fails before its headers. So this was the client.
  else run.leave();
}

/** Envoy's report that the server broke off may arrive before the answer's headers. */
function isReported({ earlyReport, run }: Forwarded): boolean {
  return earlyReport?.cluster === run.backend().cluster;
}

/** Of an answer that has ended. */
function settle(context: ExchangeContext, run: Run, outcome: Exclude<StreamOutcome, "open">, failure: GatewayError | null): void {
  if (run.settlement() !== null) return;
  run.settle(outcome, 200);
  if (failure !== null) noteFailure(context, failure);
}

function lose(run: Run): void {
  run.settle("lost", 500);
}
