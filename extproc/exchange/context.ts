import type { ErrorCode } from "../../contract/errors.ts";
import type { Interface } from "../../contract/protocol.ts";
import type { Caller } from "../auth/authenticate.ts";
import type { BrokenAnswer } from "../broken-answers.ts";
import type { RelayedAnswer } from "../early-answers/relay.ts";
import type { Dispatch } from "../fallback/dispatch.ts";
import type { AccountLoad } from "../load/account-load.ts";
import type { AnswerRoom } from "../load/answer-room.ts";
import type { HeldBytes } from "../load/byte-admission.ts";
import type { Slot } from "../load/slot.ts";
import type { Run } from "../meter/run.ts";
import type { Reply } from "../reply.ts";
import type { AnswerStream } from "./answer-stream.ts";
import type { Deadlines } from "./deadlines.ts";
import type { ExchangeDeps } from "./deps.ts";

/** What all phases of one exchange share. Each phase fills in what it finds out. */
export interface ExchangeContext {
  readonly deps: ExchangeDeps;
  /** Sends Envoy a message that it has not asked for. */
  readonly push: (reply: Reply) => void;
  readonly requestId: string;
  readonly startedMs: number;
  protocol: Interface;
  /** Undefined until the key is known. */
  caller: Caller | undefined;
  /** Of the account that pays; null until its key is known. */
  load: AccountLoad | null;
  slot: Slot | undefined;
  heldBytes: HeldBytes | undefined;
  requestBytes: number;
  /** Undefined until the headers of an answer have come that Envoy holds whole. */
  heldAnswer: Pick<AnswerRoom, "over"> | undefined;
  /** Of the answer that Envoy has in one piece; 0 until it has. */
  answerBytes: number;
  /** The client wants the charge in its answer's usage (answer-cost.ts). */
  wantsCost: boolean;
  /** Undefined until the request is sent to a model server, to be answered. */
  forwarded: Forwarded | undefined;
  /** Of the latest failure; null if nothing went wrong. */
  errorCode: ErrorCode | null;
  /** Nobody waits for an answer any more. Whatever waits for credit reads it. */
  readonly client: { aborted: boolean };
  /** All that must be closed when Envoy's stream is over (close.ts). */
  readonly closers: (() => void)[];
}

/** A request on its way to a model server, and the answer on its way back. */
export interface Forwarded {
  readonly run: Run;
  readonly dispatch: Dispatch;
  readonly deadlines: Deadlines;
  /** Takes the response that the client got; null if it is not to be stored. */
  readonly keep: ((response: Buffer) => void) | null;
  /** Null until its headers have come. */
  answer: Answer | null;
  /** The model server's own status, for the operator's log; the client's may differ. */
  upstreamStatus: number | null;
  /** Envoy's report of an attempt that broke off: it may overtake the answer's headers. */
  earlyReport: BrokenAnswer | null;
  isBroken: boolean;
  /** Null unless the answer was given up for its silence, and it is not known yet whose it was: settles it as the server's. */
  blameServer: (() => void) | null;
  /** Null unless it may be answered before its model server answers. */
  relayed: RelayedAnswer | null;
}

type Answer =
  | { kind: "upstream_error"; status: number; headers: ReadonlyMap<string, string> }
  /** One JSON document, perhaps compressed; `asStream`: the client waits for a stream, which is made from it. */
  | { kind: "whole"; asStream: boolean; coding: string | null }
  | { kind: "stream"; stream: AnswerStream };

export function createContext(deps: ExchangeDeps, push: (reply: Reply) => void): ExchangeContext {
  const startedMs = deps.clock.nowMs();
  return {
    deps,
    push,
    requestId: deps.newRequestId(startedMs),
    startedMs,
    protocol: "chat",
    caller: undefined,
    load: null,
    slot: undefined,
    heldBytes: undefined,
    requestBytes: 0,
    heldAnswer: undefined,
    answerBytes: 0,
    wantsCost: false,
    forwarded: undefined,
    errorCode: null,
    client: { aborted: false },
    closers: [],
  };
}
