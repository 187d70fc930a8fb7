import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import { UPSTREAM_PATHS } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { eventsInBody, withoutMark } from "../../protocol/body-sniffer.ts";
import { parseChatEnvelope, type ChatEnvelope } from "../../protocol/chat/request.ts";
import { createChunkEncoder, encodeUsage, type AnswerHead } from "../../protocol/chat/encode.ts";
import { errorIn } from "../../protocol/chat/error.ts";
import { chatUsage } from "../../protocol/chat/usage.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeForeign } from "../../protocol/json/raw.ts";
import { editMembers, mergeEdits, remove, replace, withinObject, write, type MemberEdit } from "../../protocol/json/splice.ts";
import { withoutChoice } from "../../protocol/broken-answer.ts";
import { encodeErrorEvent } from "../../protocol/error-event.ts";
import { encodeSseEvent, type SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { createArgumentGrowth, type ArgumentGrowth } from "../chat/argument-growth.ts";
import { findChunkText, isFinished } from "../chat/chunk-text.ts";
import { completionId } from "../conversation/ids.ts";
import { failureIn } from "../conversation/server-reasons.ts";
import { errorReader } from "./error-reader.ts";
import { chargedMembers } from "./charged-usage.ts";
import { completeCompletion, createChunkForm } from "./chat-form.ts";
import { completeCompletionUsage, hasCounts } from "./completion-usage.ts";
import { limitEdits } from "./output-limit.ts";
import { parseWhole } from "./whole-answer.ts";
import { bytesOf, chatOutput, countOutput, objectsIn } from "../readable-output.ts";
import { createPassthroughStream, type EventEdit, type StreamRules } from "./stream.ts";
import { createRepeatedMessages, type RepeatedMessages } from "./repeated-message.ts";
import { chunksOf } from "./restream.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";
import { refuseUnpriced } from "./unpriced-features.ts";
import { completionOf } from "./streamed-completion.ts";
import { createUnreadText, findUnread, logprobBytes, type Piece } from "./unread-text.ts";
import type { Translation, TranslationInput } from "../translation.ts";

/** The parts of the client's request that determine which bytes change. */
interface Wishes {
  /** The name to put into answers; null if the upstream's own is the same. */
  model: string | null;
  usage: boolean;
  usagePerChunk: boolean;
  /** Number of concurrent answers. */
  answers: number;
}

/**
 * A chat client, a chat upstream: every byte passes unchanged, except for the model's name, the output limit, the usage that
 * only the gateway requested, and what the answer lacks (chat-form.ts).
 * @throws GatewayError `invalid_request` for fields that the gateway itself must read (S21); the upstream judges the rest.
 */
export function createChatPassthrough(input: TranslationInput): Translation {
  const { body, backend, requestId, nowSeconds } = input;
  const request = parseChatEnvelope(body);
  refusePriceModifiers(body);
  refuseUnpriced(body, backend);
  const { profile, upstreamModel } = backend;
  const reader = errorReader("chat", input);
  const wantsStream = request.stream === true;
  const options = body.outline["stream_options"];
  const wishes: Wishes = {
    model: upstreamModel === request.model ? null : request.model,
    usage: request.stream_options?.include_usage === true,
    usagePerChunk: isObject(options) && options["continuous_usage_stats"] === true,
    answers: request.n ?? 1,
  };
  const head = { id: completionId("", requestId), created: nowSeconds, model: request.model };
  const rules: AnswerRules = { wishes, profile, requestId, reader, head };
  return {
    upstream: { path: UPSTREAM_PATHS.chat, body: translateBody(request, input), headers: {} },
    dropped: [],
    wantsStream,
    response: (answer, meter) => passAnswer(answer, meter, rules),
    stream: (meter) => createPassthroughStream(createRules(meter, rules)),
  };
}

function translateBody(request: ChatEnvelope, { body, backend, outputTokens }: TranslationInput): Buffer {
  const { upstreamModel, profile } = backend;
  const edits: Record<string, MemberEdit> = {
    ...(typeof body.outline["stream"] === "boolean" && { stream: replace(body.outline["stream"]) }),
    model: write(upstreamModel),
    ...limitEdits(body, { field: profile.maxTokensField, tokens: outputTokens }),
  };
  const isAsked = body.outline["stream_options"] !== undefined;
  if (request.stream === true && !profile.rejects.includes("stream_options")) edits["stream_options"] = askForUsage(profile);
  else if (request.stream === true && isAsked) edits["stream_options"] = remove;
  return body.edit(edits);
}

/** Charges are based on tokens, so a stream always ends with its usage (S28). */
function askForUsage({ continuousUsage }: Profile): MemberEdit {
  const members: Record<string, MemberEdit> = { include_usage: write(true) };
  if (continuousUsage) members["continuous_usage_stats"] = write(true);
  return withinObject(members);
}

interface AnswerRules {
  wishes: Wishes;
  profile: Profile;
  requestId: string;
  reader: ErrorReader;
  /** In place of what the server leaves out. */
  head: AnswerHead;
}

function passAnswer(body: Buffer, meter: Meter, { wishes, profile, requestId, reader, head }: AnswerRules): Buffer {
  const events = eventsInBody(body);
  const answer = events === null ? withoutMark(body) : completionOf(events, { answers: wishes.answers, reader });
  const json = parseCompletion(answer, reader);
  countAll(json, { meter, findUnreadBytes: (piece) => findUnread(answer, piece) });
  meter.report(chatUsage(json, profile) ?? {});
  const usage = completeCompletionUsage(json, meter.final().usage);
  const missing = mergeEdits(completeCompletion(json, { head, requestId, answers: wishes.answers }), usage);
  if (wishes.model === null && missing === null) return answer;
  return editMembers(answer, { ...(wishes.model !== null && { model: replace(wishes.model) }), ...missing });
}

interface Counting {
  meter: Meter;
  findUnreadBytes(piece: Omit<Piece, "data">): number;
  growth?: ArgumentGrowth | undefined;
  repeats?: RepeatedMessages;
}

/** Everything that the client can read of a chunk, or of a completion. */
function countAll(json: JsonObject, { meter, findUnreadBytes, growth, repeats }: Counting): void {
  const output = chatOutput(json, growth);
  const countedBytes = repeats?.isRepeat(json, output) === true ? bytesOf(output) : countOutput(meter, output);
  const unreadBytes = findUnreadBytes({ json, countedBytes, freeBytes: freeBytesOf(json, countedBytes, growth) });
  if (unreadBytes > 0) meter.producedBytes(unreadBytes, 0);
}

function freeBytesOf(json: JsonObject, countedBytes: number, growth: ArgumentGrowth | undefined): number {
  const repeated = growth === undefined ? 0 : bytesOf(chatOutput(json)) - countedBytes;
  return logprobBytes(json["choices"], countedBytes) + Math.max(0, repeated);
}

function parseCompletion(body: Buffer, reader: ErrorReader): JsonObject {
  const json = parseWhole(body, reader);
  const error = errorIn(json, null);
  if (error !== null) throw readUpstreamErrorPayload(error, reader);
  if (!Array.isArray(json["choices"]))
    throw new GatewayError("upstream_error", "The model server's answer is not a chat completion.");
  const choices = objectsIn(json["choices"]);
  if (choices.length === 0) throw withoutChoice();
  const failure = findFailure(choices);
  if (failure !== null) throw failure;
  return json;
}

/** A server that fails in the middle of an answer may say so in its finish reason alone. */
function findFailure(choices: readonly JsonObject[]): GatewayError | null {
  for (const choice of choices) {
    const failure = failureIn(choice["finish_reason"]);
    if (failure !== null) return failure;
  }
  return null;
}

interface ChunkFacts {
  isWithoutChoices: boolean;
  bytes: number;
}

function createRules(meter: Meter, { wishes, profile, requestId, reader, head: ownHead }: AnswerRules): StreamRules {
  const model: Record<string, MemberEdit> = wishes.model === null ? {} : { model: replace(wishes.model) };
  let outcome: ReturnType<StreamRules["outcome"]> = "open";
  const growth = profile.argumentSnapshots ? createArgumentGrowth() : undefined;
  const unread = createUnreadText();
  const repeats = createRepeatedMessages(meter);
  /** Is it finished? By index. */
  const answers = new Map<number, boolean>();
  let hasChoice = false;
  let isDone = false;
  let head = ownHead;
  const form = createChunkForm(requestId, wishes.answers);
  /** Requested, and taken from a chunk that is not the last: it follows all choices. `bytes` are those of the chunk. */
  let owed: { usage: JsonObject; bytes: number } | null = null;
  /** The client has its usage: no other follows, and none is charged, because LangChain adds up all. */
  let hasUsage = false;
  const counted = () => meter.final().usage;

  function read({ data, event }: SseEvent, json: JsonObject | null): EventEdit {
    // The client has its ending.
    if (outcome === "failed") {
      if (json !== null) report(json, objectsIn(json["choices"]).length > 0);
      return "hide";
    }
    if (data.trim() === "[DONE]") {
      isDone = true;
      if (outcome === "open" && !hasChoice) {
        outcome = "failed";
        return withoutChoice();
      }
      const missing = outcome === "open" ? encodeUnended() : "";
      if (outcome === "open") outcome = "complete";
      return withMissing(missing + encodeOwedUsage());
    }
    if (json === null) return "keep";
    const choices = objectsIn(json["choices"]);
    const error = errorIn(json, event);
    if (error !== null) return failWith(readUpstreamErrorPayload(error, reader), json);
    const failure = outcome === "open" ? findFailure(choices) : null;
    if (failure !== null) return failWith(failure, json);
    head = headOf(json, head);
    hasChoice ||= choices.length > 0;
    countAll(json, { meter, findUnreadBytes: (piece) => unread.find({ ...piece, data }), growth, repeats });
    report(json, choices.length > 0);
    if (outcome === "open" && areFinished(choices, json)) outcome = "complete";
    return editChunk(json, { isWithoutChoices: choices.length === 0, bytes: data.length });
  }

  function failWith(error: GatewayError, json: JsonObject): GatewayError {
    outcome = "failed";
    report(json, objectsIn(json["choices"]).length > 0);
    return error;
  }

  /**
   * Each answer ends separately; a server that gives fewer than requested shows that by its last report of usage, or by `[DONE]`.
   */
  function areFinished(choices: readonly JsonObject[], json: JsonObject): boolean {
    if (wishes.answers === 1) return choices.some(isFinished);
    for (const [position, choice] of choices.entries()) {
      const index = typeof choice["index"] === "number" ? choice["index"] : position;
      if (answers.has(index) || answers.size < wishes.answers)
        answers.set(index, isFinished(choice) || answers.get(index) === true);
    }
    const finished = [...answers.values()].filter((isFinished) => isFinished).length;
    const isLastReport = choices.length === 0 && finished === answers.size && chatUsage(json, profile) !== undefined;
    return finished === wishes.answers || (finished > 0 && isLastReport);
  }

  function report(json: JsonObject, hasChoices: boolean): void {
    if (hasUsage || isLessThanOwed(json["usage"])) return;
    const counts = chatUsage(json, profile) ?? {};
    const { outputTokens: _, reasoningTokens: __, ...prompt } = counts;
    meter.report(isOfOne(hasChoices) ? prompt : counts);
  }

  /** vLLM reports usage along the way for each answer separately; only the last report, which has no choice, covers all. */
  function isOfOne(hasChoices: boolean): boolean {
    return wishes.answers > 1 && profile.continuousUsage && hasChoices;
  }

  function headOf({ id, created, model }: JsonObject, before: AnswerHead): AnswerHead {
    return {
      id: typeof id === "string" ? id : before.id,
      created: typeof created === "number" ? created : before.created,
      model: wishes.model ?? (typeof model === "string" ? model : before.model),
    };
  }

  function limited(): string {
    const encoder = createChunkEncoder(head, wishes.usage);
    const usage = wishes.usage ? encoder.usage(counted()) : "";
    return encoder.finish({ finishReason: "length", stopSequence: null }) + usage + encoder.done();
  }

  function editChunk(json: JsonObject, facts: ChunkFacts): EventEdit {
    if (facts.isWithoutChoices && isObject(json["usage"]) && !isShown(json["usage"], facts.bytes)) return "hide";
    const edits = Object.hasOwn(json, "usage") ? { ...model, ...editUsage(json, facts) } : model;
    const own = form.complete(json, head);
    const missing = encodeArguments();
    if (missing !== "") return { members: { ...edits, ...own?.members }, missing, isSingular: true };
    if (own !== null) return { ...own, members: { ...edits, ...own.members } };
    return Object.keys(edits).length === 0 ? "keep" : { members: edits };
  }

  /** Is this the usage that the client requested? */
  function isShown(usage: JsonObject, bytes: number): boolean {
    if (!wishes.usage) return false;
    if (wishes.usagePerChunk) return true;
    if (hasUsage) return false;
    hasUsage = outcome === "complete" && isWholeUsage(usage);
    if (hasUsage) owed = null;
    else owe(usage, bytes);
    return hasUsage;
  }

  function owe(usage: JsonObject, bytes: number): void {
    if (!isLessThanOwed(usage)) owed = { usage, bytes };
  }

  /** Some proxies follow the server's usage with zeros. */
  function isLessThanOwed(usage: unknown): boolean {
    return owed !== null && isObject(usage) && !isWholeUsage(usage) && isWholeUsage(owed.usage);
  }

  /** Some servers report zeros before they report the answer's usage. */
  function isWholeUsage(usage: JsonObject): boolean {
    return hasCounts(usage) && (usage["completion_tokens"] !== 0 || meter.outputBytes() === 0);
  }

  /** Before the end of an answer: of calls whose server sends an empty text for none. */
  function encodeArguments(): string {
    let chunks = "";
    for (const [answer, deltas] of form.withoutArguments())
      for (const delta of deltas) chunks += chunkEncoder().delta(delta, answer);
    return chunks;
  }

  function chunkEncoder() {
    // Its null would take the place of usage that came before.
    return createChunkEncoder(head, wishes.usage && !wishes.usagePerChunk && !hasUsage);
  }

  /**
   * Chunks contain only what the client requested: no usage, usage at the end, or usage throughout. DeepSeek and Mistral put it into
   * the chunk that finishes the answer, and OpenAI's SDK for Java reads no choices of a chunk that has usage.
   */
  function editUsage({ usage }: JsonObject, { isWithoutChoices, bytes }: ChunkFacts): Record<string, MemberEdit> {
    if (!wishes.usage) return { usage: remove };
    if (!isObject(usage)) return {};
    // On the way it is a part of what will be charged.
    if (isWithoutChoices) return outcome === "complete" ? (completeCompletionUsage({ usage }, counted()) ?? {}) : {};
    if (wishes.usagePerChunk) return {};
    if (isOfOne(true)) owed = null;
    else owe(usage, bytes);
    return { usage: write(null) };
  }

  function withMissing(missing: string): EventEdit {
    return missing === "" ? "keep" : { members: {}, missing, isSingular: true };
  }

  /** Some servers show the end of an answer by `[DONE]` alone; OpenAI's SDK for JavaScript throws at an answer without a reason for it. */
  function encodeUnended(): string {
    const encoder = chunkEncoder();
    const ends = [...form.unended()].map(([index, finishReason]) => encoder.finish({ finishReason, stopSequence: null }, index));
    return encodeArguments() + ends.join("");
  }

  /** Of a server that reports none, the gateway's own count, by which it charges. */
  function encodeOwedUsage(): string {
    if (!wishes.usage || wishes.usagePerChunk || hasUsage) return "";
    hasUsage = true;
    if (owed === null) return createChunkEncoder(head, true).usage(counted());
    const { id, created, model } = head;
    const usage = { ...owed.usage, ...chargedMembers(owed.usage, encodeUsage(counted())) };
    owed = null;
    const chunk = { id, object: "chat.completion.chunk", created, model, choices: [], usage };
    return encodeSseEvent(null, encodeForeign(chunk));
  }

  return {
    read,
    // Chunks of the same form that follow lose their role.
    findText: (data) => (form.gaveRole() ? undefined : findChunkText(data, profile)),
    skimmed: meter.producedBytes,
    heldBytes: () => owed?.bytes ?? 0,
    outcome: () => outcome,
    // The answer is complete once it has its finish_reason, and clients wait for this line.
    closing: () => (isDone ? "" : encodeOwedUsage() + encodeSseEvent(null, "[DONE]")),
    limited,
    failed: (error) => encodeErrorEvent("chat", error, requestId),
    toStream(answer) {
      parseCompletion(answer, reader);
      return chunksOf(answer);
    },
  };
}
