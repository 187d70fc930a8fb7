import { toGatewayError, type GatewayError } from "../../contract/errors.ts";
import type { Run } from "../meter/run.ts";
import { tooMuchSound } from "../meter/speech-measure.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { StreamOutcome } from "../translate/translation.ts";
import { emptyAnswer } from "./answer-kind.ts";
import type { AnswerStream } from "./answer-stream.ts";

export interface SoundStreamStart {
  run: Run;
  /** No text spoken takes more. */
  maxBytes: number;
  /** Settles the run as failed. @returns the reply that cuts off the client. */
  refuse(thrown: unknown): Reply;
  /** The same, of a run that is settled later. */
  cutOff(error: GatewayError): Reply;
  /** Sends Envoy a message that answers none of its own. */
  push(reply: Reply): void;
}

/**
 * Sound on its way to the client, each chunk as it comes. It has no place for an error: a client whose answer fails is cut off, so
 * that it cannot take a part for the whole.
 */
export function createSoundStream({ run, maxBytes, refuse, cutOff, push }: SoundStreamStart): AnswerStream {
  let receivedBytes = 0;
  let outcome: StreamOutcome = "open";
  let isOver = false;

  function failed(thrown: unknown): Reply {
    isOver = true;
    outcome = "failed";
    return refuse(thrown);
  }

  /** @returns the refusal of an answer without sound. */
  function complete(): Reply | undefined {
    if (receivedBytes === 0) return failed(emptyAnswer());
    isOver = true;
    outcome = "complete";
    run.settle("complete", 200);
    return undefined;
  }

  /** Whose silence it was is known when Envoy has closed the connection. */
  function stop(error: GatewayError): "reported" | "undecided" {
    if (isOver) return "reported";
    isOver = true;
    push(cutOff(error));
    return "undecided";
  }

  return {
    receivedBytes: () => receivedBytes,
    isWaiting: () => false,
    outcome: () => outcome,
    pass(chunk, isEnd) {
      receivedBytes += chunk.length;
      if (isOver) return undefined;
      if (receivedBytes > maxBytes) return failed(tooMuchSound());
      if (run.noteOutput(chunk.length) === "stop") return failed(new Error("the request was given up"));
      if (isEnd) return complete() ?? reply.streamChunk(chunk, true);
      return chunk.length === 0 ? undefined : reply.streamChunk(chunk, false);
    },
    endWithTrailers(dropped) {
      const failure = isOver ? undefined : complete();
      if (failure !== undefined) push(failure);
      return dropped;
    },
    breakOff(lost) {
      if (isOver) return;
      isOver = true;
      lost();
    },
    serverBegan() {},
    fail: (thrown) => stop(toGatewayError(thrown)),
    timeOut: stop,
    close() {
      isOver = true;
    },
  };
}
