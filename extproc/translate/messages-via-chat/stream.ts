import type { GatewayError } from "../../../contract/errors.ts";
import type { Meter } from "../../meter/meter.ts";
import { encodeMessagesErrorEvent, encodeMessagesEvent } from "../../protocol/messages/encode-event.ts";
import type { StreamTranslation } from "../translation.ts";
import type { AnswerContext } from "./answer-reader.ts";
import { createEventStream, type Step } from "./event-stream.ts";

/** A chat stream as a messages stream, in bytes: a failure is written behind what came before it (S22). */
export function createMessagesStream(context: AnswerContext, meter: Meter): StreamTranslation {
  const stream = createEventStream(context, meter);
  const encode = ({ events, error }: Step) => Buffer.from(events.map(encodeMessagesEvent).join("") + encodeError(error));
  const encodeError = (error: GatewayError | null) => (error === null ? "" : encodeMessagesErrorEvent(error, context.requestId));

  return {
    push: (chunk) => encode(stream.push(chunk)),
    end: () => encode(stream.end()),
    stopForCredit: () => encode(stream.stopForCredit()),
    fail: (error) => Buffer.from(stream.fail() ? encodeError(error) : ""),
    isEnding: () => stream.isEnding(),
    outcome: () => stream.outcome(),
  };
}
