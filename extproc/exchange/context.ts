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
import type { Start } from "../load/starts.ts";
import type { Run } from "../meter/run.ts";
import type { Recording } from "../prompt-log/recording.ts";
import type { Redactor } from "../redactor.ts";
import type { Reply } from "../reply.ts";
import type { AnswerStream } from "./answer-stream.ts";
import type { Deadlines } from "./deadlines.ts";
import type { ExchangeDeps } from "./deps.ts";

/** State shared by all phases of one exchange. Each phase fills in its findings. */
export interface ExchangeContext {
  readonly deps: ExchangeDeps;
  /** Sends Envoy an unsolicited message. */
  readonly push: (reply: Reply) => void;
  readonly flow: Flow;
  /** A request of a batch has another one from its admission on. */
  requestId: string;
  readonly startedMs: number;
  protocol: Interface;
  /** Of answers that the page may read which sent the request; undefined if there is none. */
  crossOrigin: Readonly<Record<string, string>> | undefined;
  /** Undefined until the key is known. */
  caller: Caller | undefined;
  /** Of the account that pays; null until its key is known. */
  load: AccountLoad | null;
  slot: Slot | undefined;
  /** Undefined for a request that does not count (starts.ts). */
  start: Pick<Start, "entered"> | undefined;
  heldBytes: HeldBytes | undefined;
  requestBytes: number;
  /** Undefined until the headers of an answer that Envoy holds whole arrive. */
  heldAnswer: Pick<AnswerRoom, "over"> | undefined;
  /** Of a complete answer in Envoy; 0 until there is one. */
  answerBytes: number;
  /** The client wants the charge in its answer's usage (answer-cost.ts). */
  wantsCost: boolean;
  /** A chat client wants usage in its stream; read if answers are checked. */
  wantsUsage: boolean;
  /** Null unless prompt and answer are recorded. */
  recording: Recording | null;
  /** Undefined until the request is sent to a model server to be answered. */
  forwarded: Forwarded | undefined;
  /** Of the latest failure; null if there was none. */
  errorCode: ErrorCode | null;
  /** Nobody waits for an answer any more. Code that waits for credit checks it. */
  readonly client: { aborted: boolean };
  /** Resources to close when Envoy's stream is over (close.ts). */
  readonly closers: (() => void)[];
}

/** Of Envoy's messages. */
export interface Flow {
  /** None are read until `resume`, but for those that have arrived. */
  pause(): void;
  resume(): void;
}

/** A request in flight to a model server, and its answer. */
export interface Forwarded {
  readonly run: Run;
  readonly dispatch: Dispatch;
  readonly deadlines: Deadlines;
  /** Receives the response that the client got; null if it is not to be stored. */
  readonly keep: ((response: Buffer) => void) | null;
  /** Null until its headers have arrived. */
  answer: Answer | null;
  /** The model server's own status, for the operator's log; the client's may differ. */
  upstreamStatus: number | null;
  /** Why Envoy answered a stream in the model server's place, in its own words; null if it did not. */
  localReply: string | null;
  /** Envoy's report of an attempt that broke off: it may overtake the answer's headers. */
  earlyReport: BrokenAnswer | null;
  isBroken: boolean;
  /** Null unless the answer was ended because of silence on an unknown side: settles it as the server's. */
  blameServer: (() => void) | null;
  /** Null unless it may be answered before its model server answers. */
  relayed: RelayedAnswer | null;
}

type Answer =
  | { kind: "upstream_error"; status: number; headers: ReadonlyMap<string, string> }
  /** One JSON document, possibly compressed; `asStream`: the client waits for a stream, which is made from it. */
  | { kind: "whole"; asStream: boolean; coding: string | null }
  | { kind: "stream"; stream: AnswerStream };

/** Of what a model server says to the caller. */
export function redactorOf({ deps, caller }: Pick<ExchangeContext, "deps" | "caller">): Redactor {
  return deps.redactorFor(caller?.account.accountId);
}

export function createContext(deps: ExchangeDeps, push: (reply: Reply) => void, flow: Flow): ExchangeContext {
  const startedMs = deps.clock.nowMs();
  return {
    deps,
    push,
    flow,
    requestId: deps.newRequestId(startedMs),
    startedMs,
    protocol: "chat",
    crossOrigin: undefined,
    caller: undefined,
    load: null,
    slot: undefined,
    start: undefined,
    heldBytes: undefined,
    requestBytes: 0,
    heldAnswer: undefined,
    answerBytes: 0,
    wantsCost: false,
    wantsUsage: false,
    recording: null,
    forwarded: undefined,
    errorCode: null,
    client: { aborted: false },
    closers: [],
  };
}
