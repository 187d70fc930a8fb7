import type { Caller } from "../auth/authenticate.ts";
import type { Reply } from "../reply.ts";
import type { Endpoint } from "../route/endpoint.ts";
import type { TokenCount } from "../translate/count-tokens/token-count.ts";
import type { Forwarded } from "./context.ts";

/** The message that an exchange waits for. Each phase handles Envoy's next message and returns the following phase. */
export type Phase =
  /** The request's headers. */
  | { kind: "arriving" }
  /** A key, a report or credit; Envoy waits for our reply. */
  | { kind: "busy" }
  | Admitted
  | Counting
  | ForwardedPhase
  /**
   * The body of Envoy's own reply: its configuration gives it the caller's format (operator/bootstrap/filters/local-replies.ts).
   */
  | { kind: "local_reply"; status: number }
  /** Nothing: the gateway has answered itself. */
  | { kind: "answered" };

/** The request's body. */
export interface Admitted {
  kind: "admitted";
  caller: Caller;
  endpoint: Extract<Endpoint, { kind: "generate" | "count_tokens" }>;
  headers: ReadonlyMap<string, string>;
}

/** A model server's count of tokens. */
export interface Counting {
  kind: "counting";
  count: TokenCount;
  status: number;
  /** The unrequested compression of the answer; null if it is not compressed. */
  coding: string | null;
}

/** A model server's answer. */
interface ForwardedPhase {
  kind: "forwarded";
  forwarded: Forwarded;
}

export interface Step {
  /** To Envoy's message. */
  reply: Reply;
  next: Phase;
}

export function answered(reply: Reply): Step {
  return { reply, next: { kind: "answered" } };
}
