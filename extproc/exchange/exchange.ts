import { CROSS_ORIGIN_METADATA, crossOriginHeaders } from "../../contract/cross-origin.ts";
import type { ErrorCode } from "../../contract/errors.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import type { AccountLoad } from "../load/account-load.ts";
import { isReadableBy } from "../auth/cross-origin.ts";
import { contentCoding } from "../protocol/content-coding.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import { admit } from "./admit.ts";
import { emptyAnswer } from "./answer-kind.ts";
import { close } from "./close.ts";
import { createContext, type Flow } from "./context.ts";
import { answerCount } from "./count-tokens.ts";
import type { ExchangeDeps } from "./deps.ts";
import { forward } from "./forward.ts";
import type { Phase, Step } from "./phase.ts";
import { holdAnswer } from "./held-answer.ts";
import { noteUpstream, refuse, refuseSlowly } from "./refuse.ts";
import { respond, respondWhole } from "./respond.ts";

/**
 * One request's life: admit → forward → respond → close. Envoy sends one message per step and waits for its reply; `closed` comes
 * last, whatever happened.
 */
export interface Exchange {
  requestHeaders(headers: ReadonlyMap<string, string>, isEnd: boolean): Reply | Promise<Reply>;
  requestBody(body: Buffer): Reply | Promise<Reply>;
  responseHeaders(headers: ReadonlyMap<string, string>, facts: { isLocalReply: boolean; isEnd: boolean }): Reply;
  /** @returns undefined if the reply follows through `push`: of a streamed answer, for which Envoy does not wait, or after a check. */
  responseBody(body: Buffer, isEnd: boolean): Reply | undefined;
  /** @param names of the trailers, none of which the client gets. */
  responseTrailers(names: readonly string[]): Reply | undefined;
  /** Current facts about it. */
  facts(): ExchangeFacts;
  /** Of the account that pays; null until its key is known. */
  load(): AccountLoad | null;
  /**
   * Envoy's stream is over: normally, because the client left, or because the upstream broke off.
   * @param isEnded Envoy has ended it; false if it was reset, or the connection to Envoy broke.
   * @param isConnected to Envoy, still: one that stops ends its streams first.
   */
  closed(isEnded: boolean, isConnected: () => boolean): void;
}

export interface ExchangeFacts {
  requestId: string;
  protocol: Interface;
  /** Null if nothing was sent upstream. */
  model: string | null;
  backend: string | null;
  /** Null if there was no failure. */
  errorCode: ErrorCode | null;
  settlement: Settlement | null;
}

const NOTHING = Buffer.alloc(0);

/** @param push sends Envoy an unsolicited message. */
export function createExchange(deps: ExchangeDeps, push: (reply: Reply) => void, flow: Flow): Exchange {
  const context = createContext(deps, push, flow);
  let phase: Phase = { kind: "arriving" };

  function take({ reply, next }: Step): Reply {
    // Unless Envoy has answered itself meanwhile.
    if (phase.kind === "busy") phase = next;
    return reply;
  }

  /** Takes one step of a request that was not sent upstream yet; if it throws, the caller is refused. */
  function takeStep(step: () => Step | Promise<Step>): Reply | Promise<Reply> {
    phase = { kind: "busy" };
    try {
      const taken = step();
      return taken instanceof Promise ? taken.then(take).catch(refuseLater) : take(taken);
    } catch (thrown) {
      return refuseSlowly(context, thrown);
    }
  }

  /** All answers to a page that may use the key, Envoy's own among them, get the headers for that. */
  function shownTo(origin: string, answered: Reply | Promise<Reply>): Reply | Promise<Reply> {
    if (answered instanceof Promise) return answered.then((later) => shownTo(origin, later));
    if (!isReadableBy(origin, context.caller, deps.world)) return answered;
    context.crossOrigin = crossOriginHeaders(origin);
    return reply.withMetadata(answered, CROSS_ORIGIN_METADATA, context.crossOrigin);
  }

  const refuseLater = (thrown: unknown) => refuseSlowly(context, thrown);

  function responseHeaders(
    headers: ReadonlyMap<string, string>,
    { isLocalReply, isEnd }: { isLocalReply: boolean; isEnd: boolean },
  ): Reply {
    if (phase.kind === "counting") {
      phase.status = Number(headers.get(":status"));
      phase.coding = contentCoding(headers);
      return isEnd ? answerCount(context, phase, NOTHING) : holdAnswer(context, headers, reply.awaitResponseBody({}));
    }
    if (phase.kind === "forwarded" && !isLocalReply) return respond(context, phase.forwarded, { headers, isEnd });
    // Envoy has answered: a request that still waits for credit is not sent.
    if (phase.kind === "busy") context.client.aborted = true;
    const status = Number(headers.get(":status"));
    phase = { kind: "local_reply", status };
    if (context.forwarded !== undefined) noteUpstream(context, context.forwarded, { status, code: "upstream_unavailable" });
    return reply.awaitResponseBody({});
  }

  /** @param isEnd false if it is only the beginning: Envoy has no room for the rest. */
  function wholeBody(body: Buffer, isEnd: boolean): Reply | undefined {
    context.heldAnswer?.over();
    // Envoy buffers it until the client has received it.
    context.heldBytes?.resize(context.requestBytes + body.length);
    const waiting = phase;
    phase = { kind: "answered" };
    switch (waiting.kind) {
      case "local_reply":
        context.recording?.answered(waiting.status, body);
        return reply.passBody();
      case "counting":
        return answerCount(context, waiting, body);
      case "forwarded":
        return respondWhole(context, waiting.forwarded, { received: body, isEnd });
      case "arriving":
      case "busy":
      case "admitted":
      case "answered":
        throw new Error("a response body came before its headers");
    }
  }

  function isBodyAwaited(): boolean {
    if (phase.kind === "forwarded") return phase.forwarded.answer !== null;
    return phase.kind === "local_reply" || phase.kind === "counting";
  }

  /** Envoy sends no body at all for an answer of only headers and trailers. */
  function withoutBody(): Reply | undefined {
    if (phase.kind === "forwarded" && phase.forwarded.answer?.kind === "whole") throw emptyAnswer();
    return wholeBody(NOTHING, true);
  }

  function stream() {
    const answer = context.forwarded?.answer;
    return answer?.kind === "stream" ? answer.stream : undefined;
  }

  /** If the step throws, the caller gets the reason, in its protocol (S17). */
  function orRefuse<Result extends Reply | undefined>(step: () => Result): Result | Reply {
    try {
      return step();
    } catch (thrown) {
      return refuse(context, thrown);
    }
  }

  return {
    requestHeaders(headers, isEnd) {
      if (phase.kind !== "arriving") return refuse(context, new Error("a request has its headers once"));
      const answered = takeStep(() => admit(context, headers, isEnd));
      const origin = headers.get("origin");
      return origin === undefined ? answered : shownTo(origin, answered);
    },
    requestBody(body) {
      if (phase.kind !== "admitted") return refuse(context, new Error("a request body came before its headers were accepted"));
      const admitted = phase;
      context.start?.entered();
      return takeStep(() => forward(context, admitted, body));
    },
    responseHeaders: (headers, facts) => orRefuse(() => responseHeaders(headers, facts)),
    responseBody(body, isEnd) {
      const deadlines = context.forwarded?.deadlines;
      if (isEnd) deadlines?.over();
      else deadlines?.heard();
      const open = stream();
      return open === undefined ? orRefuse(() => wholeBody(body, isEnd)) : open.pass(body, isEnd);
    },
    responseTrailers(names) {
      context.forwarded?.deadlines.over();
      const open = stream();
      const dropped = reply.dropTrailers(names);
      if (open !== undefined) return open.endWithTrailers(dropped);
      return isBodyAwaited() ? orRefuse(withoutBody) : dropped;
    },
    facts() {
      const run = context.forwarded?.run;
      return {
        requestId: context.requestId,
        protocol: context.protocol,
        model: run?.model.name ?? null,
        backend: run?.backend().name ?? null,
        errorCode: context.errorCode,
        settlement: run?.settlement() ?? null,
      };
    },
    load: () => context.load,
    closed: (isEnded, isConnected) => close(context, { isEnded, isConnected }),
  };
}
