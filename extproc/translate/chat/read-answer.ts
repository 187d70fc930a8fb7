import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import { isSilent, type AnswerPart } from "../../protocol/chat/answer-part.ts";
import { parseChatAnswer, type ChatAnswer } from "../../protocol/chat/answer.ts";
import { withoutChoice } from "../../protocol/broken-answer.ts";
import { parseObject } from "../../protocol/json/object.ts";
import { readUpstreamErrorPayload } from "../../protocol/upstream-error.ts";
import type { AnswerReader, ReadAnswerContext } from "../conversation/answer.ts";
import type { AnswerEvent } from "../conversation/answer-event.ts";
import type { ToolNames } from "../conversation/names.ts";
import { bytesOf, chatOutput } from "../readable-output.ts";
import { createAnswerBlocks } from "./answer-blocks.ts";
import { createArgumentGrowth } from "./argument-growth.ts";
import { findChunkText } from "./chunk-text.ts";
import { isUnknownReason, readFinishReason } from "./stop-reason.ts";
import { createToolCallIds } from "../conversation/tool-call-ids.ts";

export interface ChatAnswerContext extends ReadAnswerContext {
  profile: Profile;
  names: ToolNames;
  /** The Model's own name. */
  thinker: string;
}

/** A chat answer, complete or in chunks. Its only ending waits for the usage, which arrives late. */
export function createAnswerReader(context: ChatAnswerContext): AnswerReader {
  const { meter, requestId, client, modelNames, stopSequences, profile, names, thinker } = context;
  const options = { client, modelNames, reasoningExcluded: profile.reasoningExcluded };
  const ids = createToolCallIds({ requestId, used: context.usedCallIds });
  const blocks = createAnswerBlocks({ names, ids, thinker, hasArgumentSnapshots: profile.argumentSnapshots });
  const growth = profile.argumentSnapshots ? createArgumentGrowth() : undefined;
  let isStarted = false;
  let hasPart = false;
  let hasSpoken = false;
  /** A chunk contained text outside the usual members. */
  let isUnread = false;
  let hasRefusal = false;
  let finishReason: string | null = null;
  let matchedStop: string | null = null;
  /** Of the choice that is the answer. */
  let index: number | undefined;

  function take({ id, part, usage }: ChatAnswer): AnswerEvent[] {
    if (part !== null) count(part);
    // After the text that arrived with it, which it counts.
    if (usage !== undefined) meter.report(usage);
    const events: AnswerEvent[] = isStarted ? [] : [{ type: "start", id, usage: usage ?? {} }];
    isStarted = true;
    if (part === null) return events;
    hasPart = true;
    hasRefusal ||= part.refusal !== "";
    finishReason = part.finishReason ?? finishReason;
    matchedStop = part.matchedStop ?? matchedStop;
    return joined(events, blocks.push(part));
  }

  function readChunk(data: string): ChatAnswer {
    const parsed = parseChatAnswer(data, { ...options, index });
    index ??= parsed.index ?? undefined;
    const answer = parsed.isWhole && hasSpoken && parsed.part !== null ? { ...parsed, part: endOnly(parsed.part) } : parsed;
    if (answer.part !== null && !isSilent(answer.part)) hasSpoken = true;
    else if (!hasSpoken) isUnread ||= hasUnreadOutput(data);
    return answer;
  }

  function count(part: AnswerPart): void {
    if (part.reasoning !== "") meter.produced(part.reasoning);
    if (part.text !== "") meter.produced(part.text);
    if (part.refusal !== "") meter.produced(part.refusal);
    for (const tool of part.tools) {
      const text = growth === undefined ? tool.arguments : growth.grown(`${tool.index}/${tool.id}`, tool.arguments);
      if (text !== "") meter.produced(text);
    }
  }

  function finish(): AnswerEvent[] {
    if (isUnread && !hasSpoken) throw unread();
    const ending = readFinishReason({ finishReason, matchedStop, stopSequences, hasRefusal });
    if (finishReason !== null && isUnknownReason(finishReason)) meter.noteUnknownReason(finishReason);
    // What the client reads is what is charged: the meter's numbers, or our count if the server gave none (S28).
    return [...blocks.end({ isCut: ending.reason !== "end" }), { type: "stop", ending, usage: meter.final().usage }];
  }

  return {
    hasKeepAliveComments: true,
    skimming: { findText: (data) => findChunkText(data, profile), passed: meter.producedBytes },
    read({ event, data }) {
      if (event === "error") throw readUpstreamErrorPayload(data, { client, modelNames });
      if (data.trim() !== "[DONE]") return take(readChunk(data));
      if (!hasPart) throw withoutChoice();
      return finish();
    },
    readWhole(json) {
      const answer = parseChatAnswer(json, { ...options, isComplete: true });
      refuseUnread(answer, json);
      if (answer.part === null) throw withoutChoice();
      return [...take(answer), ...finish()];
    },
    isFinished: () => finishReason !== null,
    // Many servers omit [DONE]; a stream without a finish reason was cut off (S22).
    end: () => (finishReason === null ? [] : finish()),
    limit() {
      finishReason = "length";
      matchedStop = null;
      return finish();
    },
  };
}

/** @throws GatewayError `upstream_error` for an answer with text only in members that no reader of chat completions looks at. */
function refuseUnread({ part }: ChatAnswer, json: string): void {
  if (part !== null && !isSilent(part)) return;
  if (hasUnreadOutput(json)) throw unread();
}

/** A message's members besides its text, which are known. */
function endOnly({ finishReason, matchedStop, annotations }: AnswerPart): AnswerPart {
  return { reasoning: "", text: "", refusal: "", tools: [], finishReason, matchedStop, annotations };
}

function hasUnreadOutput(json: string): boolean {
  return bytesOf(chatOutput(parseObject(json) ?? {})) > 0;
}

function unread(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer is not a chat completion: its message has no text.");
}

/** Most pieces are not the first. */
function joined(start: AnswerEvent[], events: AnswerEvent[]): AnswerEvent[] {
  return start.length === 0 ? events : [...start, ...events];
}
