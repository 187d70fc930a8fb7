import { GatewayError } from "../../contract/errors.ts";
import { HEADERS } from "../../contract/headers.ts";
import type { Exchange } from "../exchange/exchange.ts";
import { requestChanges } from "../headers.ts";
import { encodeRefusal } from "../exchange/refusal.ts";
import { statusMeant } from "../protocol/aws-error.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { Attempt } from "./attempts.ts";
import type { OpenAttempts } from "./open-attempts.ts";

export interface AttemptExchangeDeps {
  openAttempts: Pick<OpenAttempts, "find">;
  /** Sends Envoy an unsolicited message. */
  push(reply: Reply): void;
}

/**
 * One attempt's stream, in addition to that of its request (exchange/exchange.ts): names the backend and provides its body, and
 * asks Envoy for another attempt if the answer is a failure. The exchange translates and meters the answer that passes.
 */
export function createAttemptExchange({ openAttempts, push }: AttemptExchangeDeps): Omit<Exchange, "facts"> {
  let attempt: Attempt | undefined;
  let requestId = "";
  let timer: NodeJS.Timeout | undefined;

  function begin(headers: ReadonlyMap<string, string>): Reply {
    requestId = headers.get(HEADERS.requestId) ?? "";
    const attempts = openAttempts.find(requestId);
    // The client has left since.
    if (attempts === undefined) return refuseLate();
    attempt = attempts.begin();
    const sent = attempt.request();
    // An answer was already in transit.
    if (sent === null) return refuseLate();
    timer = setTimeout(timeOut, attempts.firstByteMs);
    const { backend } = attempt;
    const { upstream, isAsReceived } = sent;
    const { set, remove } = requestChanges({ headers, backend, upstream, requestId });
    return reply.replaceRequest(isAsReceived ? "unchanged" : upstream.body, {
      set: { ...set, [HEADERS.bodyLength]: String(upstream.body.length) },
      remove,
    });
  }

  function refuseLate(): Reply {
    return refuse(new GatewayError("overloaded", "The request is over."), {});
  }

  function timeOut(): void {
    if (attempt === undefined) return;
    const isRetried = attempt.timedOut() === "try_next";
    push(refuse(new GatewayError("upstream_timeout", "The model server did not answer in time. Try again."), tryNext(isRetried)));
  }

  /** Nobody reads the text: the exchange words the error itself, in the caller's protocol. */
  function refuse(error: GatewayError, headers: Readonly<Record<string, string>>): Reply {
    const refusal = encodeRefusal("chat", error, requestId);
    return reply.answerNow({ ...refusal, headers: { ...refusal.headers, ...headers } });
  }

  return {
    requestHeaders: begin,
    responseHeaders(headers, { isLocalReply }) {
      clearTimeout(timer);
      const answer = { status: statusMeant(Number(headers.get(":status")), headers), headers, isLocalReply };
      const isRetried = attempt?.answered(answer) === "try_next";
      // A server that sends the header itself decides nothing.
      return reply.passResponse({ set: tryNext(isRetried), remove: isRetried ? [] : [HEADERS.tryNext] });
    },
    // Its only message is small, and the work is in the request's own stream.
    load: () => null,
    requestBody: notAsked,
    responseBody: notAsked,
    responseTrailers: notAsked,
    closed() {
      clearTimeout(timer);
      attempt?.abandoned();
    },
  };
}

function tryNext(isRetried: boolean): Readonly<Record<string, string>> {
  return isRetried ? { [HEADERS.tryNext]: "1" } : {};
}

function notAsked(): never {
  throw new Error("the filter of an attempt sends no bodies");
}
