import type { Caller } from "../auth/authenticate.ts";
import type { AnswerStream } from "./answer-stream.ts";
import type { Endpoint } from "../route/endpoint.ts";
import type { TokenCount } from "../translate/count-tokens/token-count.ts";

/** Known once the request's headers are accepted. */
export interface Admitted {
  caller: Caller;
  endpoint: Exclude<Endpoint, { kind: "root" }>;
  headers: ReadonlyMap<string, string>;
}

/** How the response comes. */
export type Response =
  /** Envoy's own: its configuration gives it the caller's shape (operator/bootstrap/local-replies.ts). */
  | { kind: "local_reply" }
  | { kind: "token_count"; count: TokenCount; status: number }
  | { kind: "upstream_error"; status: number; headers: ReadonlyMap<string, string> }
  /** One JSON document; `asStream`: the client waits for a stream, which is made from it. */
  | { kind: "whole"; asStream: boolean }
  | { kind: "stream"; stream: AnswerStream };
