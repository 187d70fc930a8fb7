import { GatewayError } from "../../../contract/errors.ts";
import { NO_USAGE, type Usage } from "../../../contract/usage.ts";
import type { Meter } from "../../meter/meter.ts";
import type { ChatAnswer } from "../../protocol/chat/answer.ts";
import type { ModelNames } from "../../protocol/upstream-error.ts";
import type { AnswerPart } from "../../protocol/chat/answer-part.ts";
import type { MessagesEvent } from "../../protocol/messages/encode-event.ts";
import { encodeMessagesUsage } from "../../protocol/messages/encode-usage.ts";
import { createArgumentGrowth } from "../chat/argument-growth.ts";
import { messageId } from "../conversation/ids.ts";
import type { ToolNames } from "../conversation/names.ts";
import { createAnswerBlocks } from "./answer-blocks.ts";
import { mapFinishReason } from "./stop-reason.ts";
import { createToolCallIds } from "./tool-call-ids.ts";

/** What an answer needs to know of its request. */
export interface AnswerContext {
  /** The model name as the client wrote it: answers repeat it. */
  model: string;
  modelNames: ModelNames;
  requestId: string;
  names: ToolNames;
  usedToolIds: ReadonlySet<string>;
  stopSequences: readonly string[];
  reasoningExcluded: boolean;
  hasArgumentSnapshots: boolean;
}

/** Turns one chat answer, whole or in chunks, into the events of one messages answer, and counts it. */
export interface AnswerReader {
  read(answer: ChatAnswer): MessagesEvent[];
  /**
   * An answer that came in one piece, with its ending.
   * @throws GatewayError `upstream_error` where it has neither a choice nor usage.
   */
  readWhole(answer: ChatAnswer): MessagesEvent[];
  /** Ends here, as if the limit of output tokens were reached; `finish` comes next. */
  limit(): void;
  /**
   * The one ending: open blocks, stop reason, usage.
   * @throws GatewayError where the upstream's finish reason is a failure.
   */
  finish(): MessagesEvent[];
  isStarted(): boolean;
  /** Has the upstream said why it stopped? More usage may still come. */
  isFinished(): boolean;
}

export function createAnswerReader(context: AnswerContext, meter: Meter): AnswerReader {
  const blocks = createAnswerBlocks({
    ...context,
    ids: createToolCallIds({ requestId: context.requestId, used: context.usedToolIds }),
  });
  const growth = context.hasArgumentSnapshots ? createArgumentGrowth() : undefined;
  let isStarted = false;
  let hasRefusal = false;
  let finishReason: string | null = null;
  let matchedStop: string | null = null;

  function read({ id, part, usage }: ChatAnswer): MessagesEvent[] {
    if (part !== null) count(part);
    // Behind the text that came with it, which it counts.
    if (usage !== undefined) meter.report(usage);
    const events = isStarted ? [] : [start(id, usage)];
    isStarted = true;
    if (part === null) return events;
    hasRefusal ||= part.refusal !== "";
    finishReason = part.finishReason ?? finishReason;
    matchedStop = part.matchedStop ?? matchedStop;
    return [...events, ...blocks.push(part)];
  }

  function readWhole(answer: ChatAnswer): MessagesEvent[] {
    if (answer.part === null && answer.usage === undefined) {
      throw new GatewayError("upstream_error", "The model server sent an answer without content. Try again.");
    }
    return [...read(answer), ...finish()];
  }

  function count(part: AnswerPart): void {
    for (const text of [part.reasoning, part.text, part.refusal]) if (text !== "") meter.produced(text);
    for (const tool of part.tools) {
      const text = growth === undefined ? tool.arguments : growth.grown(`${tool.index}/${tool.id}`, tool.arguments);
      if (text !== "") meter.produced(text);
    }
  }

  // Zero where the upstream has not counted yet, or not in numbers that can be true: clients keep a number that is too high.
  function start(id: string, usage: Partial<Usage> | undefined): MessagesEvent {
    return {
      type: "message_start",
      message: {
        id: messageId(id, context.requestId),
        type: "message",
        role: "assistant",
        model: context.model,
        content: [],
        stop_reason: null,
        stop_sequence: null,
        usage: encodeMessagesUsage({ ...NO_USAGE, ...(usage !== undefined && isCounted(usage) ? usage : {}) }),
      },
    };
  }

  function finish(): MessagesEvent[] {
    const stop = mapFinishReason({
      finishReason,
      matchedStop,
      stopSequences: context.stopSequences,
      hasTools: blocks.hasTools(),
      hasRefusal,
    });
    // What the client reads is what is charged: the meter's numbers, counted by us where the upstream gave none (S28).
    const usage = encodeMessagesUsage(meter.final().usage);
    return [...blocks.end(), { type: "message_delta", delta: stop, usage }, { type: "message_stop" }];
  }

  return {
    read,
    readWhole,
    finish,
    limit() {
      finishReason = "length";
      matchedStop = null;
    },
    isStarted: () => isStarted,
    isFinished: () => finishReason !== null,
  };
}

function isCounted(usage: Partial<Usage>): boolean {
  return Object.values(usage).every((tokens) => Number.isSafeInteger(tokens) && tokens >= 0);
}
