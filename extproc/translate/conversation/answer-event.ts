import type { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";

/**
 * A protocol-neutral answer, step by step: every server's answer is read into it, complete or streamed, and every client's answer
 * is written from it. It starts once; blocks open, grow and close, several may be open at once; it stops once, or ends with an
 * error.
 */
export type AnswerEvent =
  | { readonly type: "start"; readonly id: string; readonly usage: Partial<Usage> }
  | { readonly type: "open"; readonly index: number; readonly block: OpenedBlock }
  | GrowthEvent
  | { readonly type: "signature"; readonly index: number; readonly signature: string }
  | { readonly type: "citations"; readonly index: number; readonly citations: readonly Citation[] }
  | { readonly type: "close"; readonly index: number }
  | { readonly type: "stop"; readonly ending: Ending; readonly usage: Usage }
  /** The server shows that it is alive. */
  | { readonly type: "ping" }
  | { readonly type: "error"; readonly error: GatewayError };

export interface GrowthEvent {
  readonly type: "text" | "refusal" | "thinking" | "arguments";
  readonly index: number;
  /** Never empty. Of arguments: a piece of their JSON text. */
  readonly text: string;
}

export type OpenedBlock =
  | { readonly type: "text" }
  /** The model's refusal, in protocols that keep it separate from an answer. */
  | { readonly type: "refusal" }
  | { readonly type: "thinking" }
  | { readonly type: "redacted_thinking"; readonly data: string }
  /** Its id is empty if the server gave none; its name is the client's. */
  | { readonly type: "tool_call"; readonly id: string; readonly name: string };

export interface Citation {
  readonly url: string;
  readonly title: string | null;
  /** The range of its block's text that it supports, as its server counts characters; null for all of it. */
  readonly range: { readonly start: number; readonly end: number } | null;
}

export interface Ending {
  readonly reason: StopReason;
  /** The client's stop sequence that ended the answer. */
  readonly stopSequence: string | null;
  /** Why the model refused, if it gives a reason. */
  readonly explanation: string | null;
}

/**
 * "end": the model finished, or calls tools, which the blocks show. "limit": out of tokens. "refusal": the model, or a filter,
 * declined to continue.
 */
export type StopReason = "end" | "stop_sequence" | "limit" | "refusal";
