import { GatewayError } from "../../../contract/errors.ts";
import type { Meter } from "../../meter/meter.ts";
import { encodeMessage } from "../../protocol/messages/encode-message.ts";
import { encodeMessagesEvent, type MessagesEvent } from "../../protocol/messages/encode-event.ts";
import type { AnswerContext } from "./answer-reader.ts";
import { createEventStream } from "./event-stream.ts";

/**
 * A whole chat answer as a whole messages answer. The body may be a completion or, from servers that only
 * stream, a stream; a client that asked for a stream gets one from either.
 *
 * @throws GatewayError `upstream_error`, or the error that the upstream put into its answer.
 */
export function translateAnswer({ body, context, meter, wantsStream }: WholeAnswer): Buffer {
  const events = readEvents(body, context, meter);
  return wantsStream ? Buffer.from(events.map(encodeMessagesEvent).join("")) : encodeMessage(events);
}

interface WholeAnswer {
  body: Buffer;
  context: AnswerContext;
  meter: Meter;
  wantsStream: boolean;
}

function readEvents(body: Buffer, context: AnswerContext, meter: Meter): MessagesEvent[] {
  const stream = createEventStream(context, meter);
  const steps = [stream.push(body), stream.end()];
  for (const { error } of steps) if (error !== null) throw error;
  if (stream.outcome() !== "complete")
    throw new GatewayError("upstream_error", "The model server sent no usable answer. Try again.");
  return steps.flatMap(({ events }) => events);
}
