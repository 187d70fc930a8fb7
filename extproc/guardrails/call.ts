import { request as send } from "node:http";
import { HEADERS } from "../../contract/headers.ts";
import type { RelayTarget } from "../early-answers/relay.ts";
import type { HookFailure } from "./outcome.ts";

/** One request to a hook, through Envoy, which adds the credential, checks the address and speaks TLS. */
export interface HookCall {
  /** The listener of Envoy's that leads to model servers. */
  target: RelayTarget;
  cluster: string;
  path: string;
  body: Buffer;
  /** Ends it. */
  signal: AbortSignal;
}

export type HookAnswer = { kind: "answer"; body: Buffer } | { kind: "failed"; failure: HookFailure; status: number | null };

/** OpenAI's answers have some 2 KiB for each text. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;

/** Never rejects. */
export function callHook({ target, cluster, path, body, signal }: HookCall): Promise<HookAnswer> {
  return new Promise((resolve) => {
    const failed = (failure: HookFailure, status: number | null = null) => resolve({ kind: "failed", failure, status });
    const request = send({
      ...target,
      // The connection ends with the request: its end tells Envoy that nobody waits.
      agent: false,
      method: "POST",
      path,
      headers: {
        host: "guardrail",
        "content-type": "application/json",
        accept: "application/json",
        "content-length": body.length,
        [HEADERS.backend]: cluster,
      },
      signal,
    });
    request.on("error", () => failed("broken"));
    request.on("response", (response) => {
      const { statusCode = 0, headers } = response;
      const chunks: Buffer[] = [];
      let bytes = 0;
      response.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        if (bytes <= MAX_ANSWER_BYTES) return void chunks.push(chunk);
        failed("too_large", statusCode);
        request.destroy();
      });
      response.on("error", () => failed("broken", statusCode));
      response.on("close", () => failed("broken", statusCode));
      response.on("end", () => {
        if (headers[HEADERS.localReply] !== undefined) return failed("unreachable");
        if (statusCode !== 200) return failed("status", statusCode);
        resolve({ kind: "answer", body: Buffer.concat(chunks) });
      });
    });
    request.end(body);
  });
}
