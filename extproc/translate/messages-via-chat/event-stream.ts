import { GatewayError } from "../../../contract/errors.ts";
import type { Meter } from "../../meter/meter.ts";
import { isSilent } from "../../protocol/chat/answer-part.ts";
import { parseChatAnswer, type ChatAnswer } from "../../protocol/chat/answer.ts";
import { parseObject } from "../../protocol/json/object.ts";
import type { MessagesEvent } from "../../protocol/messages/encode-event.ts";
import { readUpstreamErrorPayload } from "../../protocol/upstream-error.ts";
import { createSseParser, type SseEvent } from "../../protocol/sse.ts";
import type { StreamOutcome } from "../translation.ts";
import { createAnswerReader, type AnswerContext } from "./answer-reader.ts";
import { createBodySniffer } from "../../protocol/body-sniffer.ts";
import { chatOutput } from "../passthrough/output.ts";
import { splitAtComments } from "./comments.ts";

/** Events for the client, and the failure that ended the stream behind them. */
export interface Step {
  events: MessagesEvent[];
  error: GatewayError | null;
}

export interface EventStream {
  push(chunk: Buffer): Step;
  /** The upstream closed. */
  end(): Step;
  /** Ends the answer as one that ran into its limit of output tokens. */
  stopForCredit(): Step;
  /** Ends the stream from outside; false where it had ended before. */
  fail(): boolean;
  isEnding(): boolean;
  outcome(): StreamOutcome;
}

/**
 * Reads a chat stream as messages events: sequential blocks, one ending that waits for the late
 * usage, an error where the stream breaks. A whole JSON completion where a stream was asked for gives the same
 * events, at its end.
 */
export function createEventStream(context: AnswerContext, meter: Meter): EventStream {
  const reader = createAnswerReader(context, meter);
  const parser = createSseParser();
  const sniffer = createBodySniffer();
  let outcome: StreamOutcome = "open";
  let comments = 0;

  function push(chunk: Buffer): Step {
    return attempt((events) => {
      for (const piece of splitAtComments(sniffer.push(chunk))) {
        for (const event of parser.push(piece)) take(event, events);
        passComments(events);
      }
    });
  }

  function end(): Step {
    return attempt((events) => {
      const json = sniffer.json();
      if (json !== null) {
        events.push(...reader.readWhole(parseCompletion(json)));
        outcome = "complete";
        return;
      }
      for (const event of parser.end()) take(event, events);
      if (outcome === "open") close(events);
    });
  }

  /** @throws GatewayError `upstream_error` for an answer that says something where no reader of chat completions looks. */
  function parseCompletion(json: string): ChatAnswer {
    const answer = parseChatAnswer(json, context);
    if (answer.part !== null && !isSilent(answer.part)) return answer;
    const { texts, otherBytes } = chatOutput(parseObject(json) ?? {});
    if (texts.length > 0 || otherBytes > 0)
      throw new GatewayError("upstream_error", "The model server's answer is not a chat completion: its message has no text.");
    return answer;
  }

  function take({ event, data }: SseEvent, events: MessagesEvent[]): void {
    if (outcome !== "open") return;
    if (event === "error") throw readUpstreamErrorPayload(data, "messages", context.modelNames);
    if (data.trim() !== "[DONE]") {
      events.push(...reader.read(parseChatAnswer(data, context)));
      return;
    }
    if (!reader.isStarted()) throw new GatewayError("upstream_error", "The model server sent an empty answer. Try again.");
    finish(events);
  }

  // Many servers leave [DONE] out; a stream without a finish reason is one that broke (S22).
  function close(events: MessagesEvent[]): void {
    if (reader.isFinished()) {
      finish(events);
      return;
    }
    outcome = "truncated";
    throw new GatewayError("upstream_error", "The model server's answer ended before it was complete. Try again.");
  }

  function finish(events: MessagesEvent[]): void {
    events.push(...reader.finish());
    outcome = "complete";
  }

  // An upstream's keep-alive comments quiet the client's watchdogs too; before message_start nothing may come.
  function passComments(events: MessagesEvent[]): void {
    for (; comments < parser.comments(); comments += 1) {
      if (reader.isStarted() && outcome === "open") events.push({ type: "ping" });
    }
  }

  /** What the upstream did wrong ends the stream; a bug of ours is for the caller to log. */
  function attempt(step: (events: MessagesEvent[]) => void): Step {
    const events: MessagesEvent[] = [];
    if (outcome !== "open") return { events, error: null };
    try {
      step(events);
      return { events, error: null };
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      if (outcome === "open") outcome = "failed";
      return { events, error: thrown };
    }
  }

  return {
    push,
    end,
    stopForCredit: () =>
      attempt((events) => {
        reader.limit();
        finish(events);
      }),
    fail() {
      if (outcome !== "open") return false;
      outcome = "failed";
      return true;
    },
    isEnding: () => outcome !== "open" || reader.isFinished(),
    outcome: () => outcome,
  };
}
