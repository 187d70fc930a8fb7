import type { Relay, RelayedAnswer } from "../early-answers/relay.ts";
import { contentCoding, undecodable } from "../protocol/content-coding.ts";
import { judgeAnswer } from "./answer-kind.ts";
import type { ExchangeContext, Forwarded } from "./context.ts";
import { breakOff, isReportedBroken, serverBroke, upstreamError } from "./interrupt.ts";

/**
 * Phase 3b: a relayed stream may have been answered before its model server answers. Then the server's answer, or its failure,
 * arrives here.
 */
export function createRelayedAnswer(context: ExchangeContext, forwarded: Forwarded, afterMs: number): RelayedAnswer {
  let relay: Relay | undefined;
  const { promise, resolve } = Promise.withResolvers<void>();

  function stream() {
    const { answer } = forwarded;
    return answer?.kind === "stream" && !context.client.aborted ? answer.stream : null;
  }

  return {
    afterMs,
    relayedBy: (by) => void (relay = by),
    serverBroke: () => relay?.serverBroke(),
    ready: resolve,
    // After the message that made it ready, whose reply is sent first.
    whenReady: (then) => void promise.then(then),
    began(headers) {
      const open = stream();
      if (open === null) return "drop";
      try {
        if (judgeAnswer(forwarded, headers) === "upstream_error") return "collect";
        const coding = contentCoding(headers);
        // The client's stream is already open, and the server's bytes cannot be decoded.
        if (coding !== null) throw undecodable(coding);
        forwarded.deadlines.began(true);
        open.serverBegan();
        if (isReportedBroken(forwarded, Number(headers.get(":status")))) serverBroke(context, forwarded);
        return "pass";
      } catch (thrown) {
        open.fail(thrown);
        return "drop";
      }
    },
    collected(headers, body) {
      stream()?.fail(upstreamError(context, forwarded, { status: Number(headers.get(":status")), headers, body }));
    },
    brokeOff() {
      if (!context.client.aborted) breakOff(context, forwarded);
    },
  };
}
