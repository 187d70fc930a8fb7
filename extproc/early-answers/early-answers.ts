import type { IncomingHttpHeaders, ServerHttp2Stream } from "node:http2";
import { HEADERS } from "../../contract/headers.ts";
import { createFleetingMap } from "../../runtime/fleeting-map.ts";
import { relay, type LateAnswer, type RelayTarget } from "./relay.ts";

/**
 * Streams that pass through this process on their way to the model server, so that it can answer in the server's place and send
 * keep-alives until the server does (docs/decisions/0048).
 */
export interface EarlyAnswers {
  /** This process's address for Envoy, to which the request is routed. */
  readonly worker: string;
  /** The request will arrive once; after `afterMs` of silence it is answered. */
  expect(requestId: string, answer: LateAnswer): void;
  forget(requestId: string): void;
  /** Envoy sends the request. */
  serve(stream: ServerHttp2Stream, headers: IncomingHttpHeaders): void;
}

export interface EarlyAnswersDeps {
  target: RelayTarget;
  worker: string;
}

const CONFLICT = 409;

export function createEarlyAnswers({ target, worker }: EarlyAnswersDeps): EarlyAnswers {
  const expected = createFleetingMap<string, LateAnswer>();
  return {
    worker,
    expect: (requestId, answer) => expected.set(requestId, answer),
    forget: (requestId) => expected.delete(requestId),
    serve(stream, headers) {
      const requestId = String(headers[HEADERS.requestId]);
      const answer = expected.get(requestId);
      // The client has left since, or somebody tries to send a request twice.
      if (answer === undefined) return stream.respond({ ":status": CONFLICT }, { endStream: true });
      expected.delete(requestId);
      relay({ stream, headers, answer, target });
    },
  };
}
