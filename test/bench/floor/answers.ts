import type { ProcessingRequest } from "../../../extproc/processing-request.ts";
import { streamChunk, type Reply } from "../../../extproc/reply.ts";
import type { GrpcHandler, GrpcStream } from "../../../runtime/grpc-streams.ts";

/** What the real extproc answered to one request, message by message. */
export interface Answers {
  requestHeaders: Reply;
  requestBody: Reply;
  responseHeaders: Reply;
  /** Of a response that comes whole; null for a stream. */
  wholeBody: Reply | null;
  streamed: Streamed;
}

interface Streamed {
  /** All that the client got. */
  bytes: Buffer;
  /** How many of `bytes` had been sent after so many bytes of the model server's, in ascending order. */
  steps: readonly { received: number; sent: number }[];
}

/** Answers a request as the recorded one was, and looks at nothing but the number of bytes. */
export function createReplay(
  answers: Answers,
  { stream, read }: { stream: GrpcStream; read: (message: Buffer) => ProcessingRequest },
): GrpcHandler {
  const { bytes, steps } = answers.streamed;
  let received = 0;
  let sent = 0;
  let step = 0;

  function send({ frame, rest }: Reply): void {
    stream.send(frame, rest);
  }

  function streamOn(body: Buffer, isEnd: boolean): void {
    received += body.length;
    let until = sent;
    for (; step < steps.length; step++) {
      const next = steps[step];
      if (next === undefined || next.received > received) break;
      until = next.sent;
    }
    if (isEnd) until = bytes.length;
    if (until === sent && !isEnd) return;
    send(streamChunk(bytes.subarray(sent, until), isEnd));
    sent = until;
  }

  function message(content: Buffer): void {
    const request = read(content);
    switch (request.kind) {
      case "requestHeaders":
      case "requestBody":
      case "responseHeaders":
        return send(answers[request.kind]);
      case "responseBody":
        return answers.wholeBody === null ? streamOn(request.body, request.isEnd) : send(answers.wholeBody);
      case "responseTrailers":
      case "other":
        return stream.fail("there is no answer to this message");
    }
  }

  return { message, ended: () => stream.end(), closed() {} };
}
