import type { GatewayError } from "../../../contract/errors.ts";
import { createAnswerSize } from "../../protocol/answer-bounds.ts";
import { createEventEncoder, NO_EVENTS, type EventEncoder, type PartEvent } from "../../protocol/responses/event.ts";
import { encodeResponse, type ResponseHead, type ResponseState } from "../../protocol/responses/response.ts";
import type { AnswerWriter, StreamWriter } from "../conversation/answer.ts";
import type { AnswerEvent } from "../conversation/answer-event.ts";
import { ownResponseId } from "../conversation/ids.ts";
import { createBlocks } from "./blocks.ts";
import { openRefusal } from "./open-item.ts";
import { createOutput } from "./output.ts";
import { writeStopReason } from "./stop-reason.ts";
import type { WriteContext } from "./write-context.ts";

/** Answers for a Responses client. A complete one is the content of the stream's last event. */
export function createAnswerWriter(context: WriteContext): AnswerWriter {
  return {
    stream: () => createStreamWriter(context, createEventEncoder),
    whole(events) {
      const writer = createStreamWriter(context, () => NO_EVENTS);
      for (const event of events) writer.write(event);
      return writer.response();
    },
  };
}

function createStreamWriter(
  context: WriteContext,
  createEncoder: (head: ResponseHead) => EventEncoder,
): StreamWriter & { response(): Buffer } {
  const { asked, model, requestId, nowSeconds, secondsNow } = context;
  const serial = requestId.replaceAll("-", "");
  const head: ResponseHead = { id: ownResponseId(requestId), created: nowSeconds, model, echoed: asked.echoed };
  const encoder = createEncoder(head);
  const output = createOutput(serial);
  const blocks = createBlocks(context, output);
  const size = createAnswerSize();
  let isStarted = false;
  let end: ResponseState = { status: "in_progress" };

  function write(event: AnswerEvent): string {
    switch (event.type) {
      case "start":
        return opening();
      case "stop":
        return finish(event);
      case "ping":
        return ": ping\n\n";
      case "error":
        throw event.error;
      case "text":
      case "refusal":
      case "thinking":
      case "arguments":
        // The last events repeat all text.
        size.keep(event.text.length);
        return encode(blocks.take(event));
      case "open":
      case "signature":
      case "citations":
      case "close":
        return encode(blocks.take(event));
    }
  }

  function opening(): string {
    isStarted = true;
    return encoder.response("created", end, []) + encoder.response("in_progress", end, []);
  }

  function finish({ ending, usage }: Extract<AnswerEvent, { type: "stop" }>): string {
    // A refusal is a complete response.
    const reason = ending.reason === "refusal" && blocks.hasRefusal() ? null : writeStopReason(ending.reason);
    const closed = output.close(reason !== null);
    const explained = reason === "content_filter" && output.isEmpty() ? explain(ending.explanation ?? "") : [];
    end = reason === null ? { status: "completed", usage, atSeconds: secondsNow() } : { status: "incomplete", reason, usage };
    return encode([...closed, ...explained]) + encoder.response(end.status, end, output.items());
  }

  /** Why the model gives no answer, if it gives a reason. */
  function explain(explanation: string): PartEvent[] {
    if (explanation === "") return [];
    const { item, events } = output.open("msg", openRefusal);
    return [...events, ...item.add(explanation), ...output.close(false)];
  }

  /** The error event for clients that read events, the failed response for those that wait for one (S22). */
  function fail(error: GatewayError): string {
    const opened = isStarted ? "" : opening();
    const failed: ResponseState = { status: "failed", error };
    return opened + encoder.error(error) + encoder.response("failed", failed, output.items());
  }

  function encode(events: readonly PartEvent[]): string {
    return events.map(encoder.part).join("");
  }

  return {
    write,
    fail,
    cutOff: "The model server's answer ended before it was complete. Try again.",
    response: () => Buffer.from(encodeResponse(head, end, output.items())),
  };
}
