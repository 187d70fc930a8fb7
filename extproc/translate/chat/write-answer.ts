import { createChunkEncoder, encodeCompletion, type AnswerHead, type Ending as WireEnding } from "../../protocol/chat/encode.ts";
import { encodeChatErrorEvent } from "../../protocol/error-event.ts";
import type { AnswerWriter, StreamWriter, TextFrame } from "../conversation/answer.ts";
import type { AnswerEvent, Ending } from "../conversation/answer-event.ts";
import { completionId } from "../conversation/ids.ts";
import { createMessageSum } from "./message-sum.ts";
import { createMessageDeltas, type MessageDeltas } from "./message-deltas.ts";
import { writeFinishReason } from "./stop-reason.ts";
import type { WriteContext } from "./write-context.ts";
import { BROKEN_OFF_MESSAGE } from "../../protocol/broken-answer.ts";

/** Answers for a chat client. A complete one is the sum of its stream. */
export function createAnswerWriter(context: WriteContext): AnswerWriter {
  return {
    stream: () => createStreamWriter(context),
    whole(events) {
      const deltas = createMessageDeltas(context);
      const sum = createMessageSum();
      let head = headOf("", context);
      for (const event of events) {
        if (event.type === "start") head = headOf(event.id, context);
        if (event.type === "error") throw event.error;
        for (const delta of deltas.of(event)) sum.add(delta);
        if (event.type === "stop")
          return encodeCompletion(head, sum.message(), endingOf(event.ending, deltas, context), event.usage);
      }
      throw new Error("an answer was written before it stopped");
    },
  };
}

function createStreamWriter(context: WriteContext): StreamWriter {
  const { asked, requestId } = context;
  const deltas = createMessageDeltas(context);
  let encoder = createChunkEncoder(headOf("", context), asked.wantsUsage);
  let frame: TextFrame | undefined;

  const textFrame = (): TextFrame => (frame ??= encoder.textFrame());

  function write(event: AnswerEvent): string {
    if (event.type === "ping") return ": ping\n\n";
    if (event.type === "error") throw event.error;
    if (event.type === "text") return writeText(event.text);
    if (event.type === "start") {
      encoder = createChunkEncoder(headOf(event.id, context), asked.wantsUsage);
      frame = undefined;
    }
    let text = event.type === "start" ? encoder.delta({ role: "assistant", content: "" }) : "";
    for (const delta of deltas.of(event)) text += encoder.delta(delta);
    if (event.type !== "stop") return text;
    const usage = asked.wantsUsage ? encoder.usage(event.usage) : "";
    return text + encoder.finish(endingOf(event.ending, deltas, context)) + usage + encoder.done();
  }

  /** Most events are pieces of text: the same bytes around another string. */
  function writeText(text: string): string {
    deltas.textPassed(text.length);
    const { before, after } = textFrame();
    return `${before}${JSON.stringify(text).slice(1, -1)}${after}`;
  }

  return {
    write,
    textFrame,
    textPassed: deltas.textPassed,
    fail: (error) => encodeChatErrorEvent(error, requestId),
    cutOff: BROKEN_OFF_MESSAGE,
  };
}

function headOf(id: string, { requestId, nowSeconds, model }: WriteContext): AnswerHead {
  return { id: completionId(id, requestId), created: nowSeconds, model };
}

function endingOf({ reason, stopSequence }: Ending, deltas: MessageDeltas, { asked }: WriteContext): WireEnding {
  // A refusal is a complete answer in chat: SDKs treat `content_filter` as an answer that was cut off.
  if (reason === "refusal" && deltas.hasRefusal()) return { finishReason: "stop", stopSequence };
  return { finishReason: writeFinishReason(reason, { hasCalls: deltas.hasCalls(), isLegacy: asked.isLegacy }), stopSequence };
}
