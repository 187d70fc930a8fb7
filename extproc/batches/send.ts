import { request as send, type Agent, type IncomingHttpHeaders } from "node:http";
import { BATCH_BOUNDS } from "../../contract/batches.ts";
import type { RelayTarget } from "../early-answers/relay.ts";

export interface Post {
  target: RelayTarget;
  agent: Agent;
  path: string;
  headers: Readonly<Record<string, string>>;
  body: Buffer;
  signal: AbortSignal;
}

export interface Answer {
  status: number;
  headers: IncomingHttpHeaders;
  /** null: it is longer than an answer in a batch may be. */
  body: Buffer | null;
}

const MAX_ANSWER_BYTES = BATCH_BOUNDS.answerMebibytes * 1024 * 1024;
/** Of a connection. The gateway measures the silence of model servers, and answers. */
const SILENCE_MS = 3_600_000;

/** Sends a request to Envoy, as any client would. @throws if there is no complete answer: nobody knows what became of it. */
export function post({ target, agent, path, headers, body, signal }: Post): Promise<Answer> {
  const { promise, resolve, reject } = Promise.withResolvers<Answer>();
  const request = send({
    ...target,
    agent,
    method: "POST",
    path,
    signal,
    timeout: SILENCE_MS,
    headers: { host: "batches", "content-length": String(body.length), ...headers },
  });
  request.on("error", reject);
  request.on("timeout", () => request.destroy(new Error("Envoy has been silent for an hour.")));
  request.on("response", (response) => {
    let pieces: Buffer[] = [];
    let bytes = 0;
    response.on("data", (piece: Buffer) => {
      bytes += piece.length;
      // It is read to its end: it is charged, and the connection is used again.
      if (bytes > MAX_ANSWER_BYTES) pieces = [];
      else pieces.push(piece);
    });
    response.on("error", reject);
    response.on("end", () => {
      if (!response.complete) return reject(new Error("The answer broke off."));
      const whole = bytes > MAX_ANSWER_BYTES ? null : Buffer.concat(pieces);
      resolve({ status: response.statusCode ?? 0, headers: response.headers, body: whole });
    });
  });
  request.end(body);
  return promise;
}
