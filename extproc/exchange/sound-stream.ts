import { GatewayError, toGatewayError } from "../../contract/errors.ts";
import type { Run } from "../meter/run.ts";
import { tooMuchSound } from "../meter/speech-measure.ts";
import { isText, LEAD_BYTES } from "../protocol/sound/text.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { StreamOutcome } from "../translate/translation.ts";
import { emptyAnswer } from "./answer-kind.ts";
import type { AnswerStream } from "./answer-stream.ts";

const NOTHING = Buffer.alloc(0);

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
  /** The first bytes, until they are enough to tell sound from text; null from then on. */
  let lead: Buffer | null = NOTHING;
  let outcome: StreamOutcome = "open";
  let isOver = false;

  function failed(thrown: unknown): Reply {
    isOver = true;
    outcome = "failed";
    return refuse(thrown);
  }

  /** Of bytes that go to the client: none while it is not known what they are. @throws GatewayError if they are text. */
  function sound(chunk: Buffer, isEnd: boolean): Buffer {
    if (lead === null) return chunk;
    const bytes = lead.length === 0 ? chunk : Buffer.concat([lead, chunk]);
    lead = isEnd || bytes.length >= LEAD_BYTES ? null : bytes;
    if (lead !== null) return NOTHING;
    if (isText(bytes))
      throw new GatewayError("upstream_error", "The model server's answer is text, though it is labeled as audio.");
    return bytes;
  }

  /** @throws GatewayError if there was no sound. */
  function complete(): void {
    if (receivedBytes === 0) throw emptyAnswer();
    isOver = true;
    outcome = "complete";
    run.settle("complete", 200);
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
    failure: () => null,
    pass(chunk, isEnd) {
      receivedBytes += chunk.length;
      if (isOver) return undefined;
      if (receivedBytes > maxBytes) return failed(tooMuchSound());
      if (run.noteOutput(chunk.length) === "stop") return failed(new Error("the request was given up"));
      try {
        const bytes = sound(chunk, isEnd);
        if (isEnd) complete();
        return isEnd || bytes.length > 0 ? reply.streamChunk(bytes, isEnd) : undefined;
      } catch (thrown) {
        return failed(thrown);
      }
    },
    endWithTrailers(dropped) {
      if (isOver) return dropped;
      try {
        const bytes = sound(NOTHING, true);
        complete();
        if (bytes.length > 0) push(reply.streamChunk(bytes, false));
      } catch (thrown) {
        push(failed(thrown));
      }
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
