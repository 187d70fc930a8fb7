import { isInputInterface } from "../../contract/protocol.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import { fail } from "./interrupt.ts";

/**
 * Phase 5: Envoy's stream is over. Everything that the request has taken is returned, and tokens produced before the client left,
 * or the model server broke off, are charged (S28).
 * @param isEnded Envoy has ended the stream; false if the connection to Envoy broke.
 */
export function close(context: ExchangeContext, isEnded: boolean): void {
  context.client.aborted = true;
  for (const each of context.closers.splice(0)) each();
  if (context.forwarded === undefined) context.deps.brokenAnswers.forget(context.requestId);
  else end(context, context.forwarded, isEnded);
}

function end(context: ExchangeContext, forwarded: Forwarded, isEnded: boolean): void {
  const { run, answer } = forwarded;
  const { brokenAnswers } = context.deps;
  if (forwarded.blameServer !== null) {
    // The client has received its end. Envoy's report may arrive slightly later.
    if (run.settlement() === null) brokenAnswers.judge(context.requestId, forwarded.blameServer);
    return;
  }
  // A client may hang up on the last event, before the upstream closes: that is not an abort.
  const outcome = answer?.kind === "stream" ? answer.stream.outcome() : "open";
  if (run.settlement() !== null || outcome !== "open") {
    brokenAnswers.forget(context.requestId);
    if (outcome !== "open") run.settle(outcome, 200);
    return;
  }
  if (!isEnded) {
    brokenAnswers.forget(context.requestId);
    // Nobody knows what the client got. Speech is whole or free, so it must not count as left by its client.
    if (isInputInterface(context.protocol)) run.settle("lost", 500);
    else run.settle("aborted", 499);
    return;
  }
  if (answer !== null && !forwarded.isBroken) return brokenAnswers.judge(context.requestId, run.leave);
  brokenAnswers.forget(context.requestId);
  if (forwarded.isBroken) fail(context, forwarded);
  // Envoy answers itself for an upstream that fails before its headers. So this was the client.
  else run.leave();
}
