import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { HEADERS, MESSAGES_VERSION } from "../../../contract/headers.ts";
import { UPSTREAM_PATHS } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { eventsInBody, withoutMark } from "../../protocol/body-sniffer.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { editMembers, mergeEdits, remove, replace, write, type MemberEdit } from "../../protocol/json/splice.ts";
import { encodeMessagesEvent } from "../../protocol/messages/encode-event.ts";
import { encodeMessagesUsage } from "../../protocol/messages/encode-usage.ts";
import { encodeErrorEvent } from "../../protocol/error-event.ts";
import { requestError } from "../../protocol/request-error.ts";
import { threadUnsupported } from "../../protocol/messages/thread.ts";
import { messagesUsage } from "../../protocol/messages/usage.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { errorReader } from "./error-reader.ts";
import { createEventForm } from "./event-form.ts";
import { completeMessage, completeStop, type MessageFacts } from "./message-form.ts";
import { limitEdits } from "./output-limit.ts";
import { parseWhole } from "./whole-answer.ts";
import { countOutput, messagesOutput, objectsIn } from "../readable-output.ts";
import { createPassthroughStream, type EventEdit, type StreamRules } from "./stream.ts";
import { eventsOf } from "./restream.ts";
import { BETA_HEADER, fieldsLeftOut, knownBetas, pricedBetas } from "./betas.ts";
import { answersUnthoughtCalls, leaveForeignThinking } from "./own-reasoning.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";
import { refuseUnpriced } from "./unpriced-features.ts";
import { refuseSeveralAnswers } from "./single-answer.ts";
import { findDeltaText } from "../messages/delta-text.ts";
import { createStreamUsage } from "../messages/stream-usage.ts";
import { failureIn } from "../conversation/server-reasons.ts";
import { messageOf } from "./streamed-message.ts";
import { createUnreadText, findUnread } from "./unread-text.ts";
import type { Translation, TranslationInput } from "../translation.ts";

/** What the gateway itself reads of a request for a messages upstream; the upstream judges the rest. */
const envelopeSchema = z.object({
  model: z.string({ error: "the name of a model" }).min(1, { error: "the name of a model" }),
  // 0 fills the upstream's prompt cache and generates nothing.
  max_tokens: z.int({ error: "a positive integer" }).nonnegative({ error: "a positive integer" }),
  messages: z
    .array(z.object({ role: z.string({ error: "user or assistant" }) }, { error: "a message, an object with a role" }), {
      error: "an array with at least one message",
    })
    .min(1, { error: "an array with at least one message" }),
  stream: z.boolean({ error: "true or false" }).nullish(),
});

/** Differences between the upstream's bytes and the client's. */
interface AnswerRules {
  /** The name to put into answers; null if the upstream's own is the same. */
  model: string | null;
  isUsageInclusive: boolean;
  reader: ErrorReader;
  /** In place of what the server leaves out. */
  facts: MessageFacts;
}

const NOTHING = Buffer.alloc(0);
const EVENT_NAME = /^[a-z_]{1,64}$/;
/** The lowest budget that the messages protocol accepts. */
const MIN_THINKING_TOKENS = 1_024;

/**
 * A messages client, a messages upstream: every byte passes unchanged, except for the model's name, the output limit and what
 * the answer lacks (event-form.ts).
 * @throws GatewayError `invalid_request` for fields that the gateway itself must read (S21).
 */
export function createMessagesPassthrough(input: TranslationInput): Translation {
  const { body, headers, model, backend, requestId } = input;
  const request = parseEnvelope(body);
  refusePriceModifiers(body);
  refuseUnpriced(body, backend);
  if ((body.outline["thread"] ?? null) !== null) throw threadUnsupported();
  const sent = messagesHeaders(headers);
  const known = knownBetas(sent, backend);
  const leftOut = fieldsLeftOut(sent, known).filter((field) => Object.hasOwn(body.outline, field));
  const { bytes, dropped } = translateBody(input, leftOut);
  const isRenamed = backend.upstreamModel !== request.model;
  const rules: AnswerRules = {
    model: isRenamed ? request.model : null,
    isUsageInclusive: backend.profile.usageInclusive,
    reader: errorReader("messages", input),
    facts: { requestId, model: request.model },
  };
  return {
    upstream: {
      path: UPSTREAM_PATHS.messages,
      body: bytes,
      headers: pricedBetas(known, { model, backend }),
    },
    dropped: known[BETA_HEADER] === sent[BETA_HEADER] ? dropped : [...dropped, BETA_HEADER, ...leftOut],
    wantsStream: request.stream === true,
    response: (answer, meter) => passAnswer(answer, meter, rules),
    stream: (meter) => createPassthroughStream(createRules(meter, rules)),
  };
}

function translateBody(
  { body, backend, outputTokens }: TranslationInput,
  leftOut: readonly string[],
): { bytes: Buffer; dropped: readonly string[] } {
  refuseSeveralAnswers(body);
  let mustNotThink = false;
  const edited = body.edit({
    ...(typeof body.outline["stream"] === "boolean" && { stream: replace(body.outline["stream"]) }),
    model: write(backend.upstreamModel),
    ...Object.fromEntries(leftOut.map((field) => [field, remove])),
    ...limitEdits(body, { field: "max_tokens", tokens: outputTokens }),
    thinking: budgetBelow(outputTokens),
    messages: (messages) => {
      const kept = leaveForeignThinking(messages);
      mustNotThink = kept !== undefined && kept !== messages && answersUnthoughtCalls(kept);
      return kept;
    },
  });
  const bytes = mustNotThink ? editMembers(edited, { thinking: withoutBudget }) : edited;
  return { bytes, dropped: bytes === edited ? [] : ["thinking"] };
}

/** Adaptive thinking may begin anywhere. */
function withoutBudget(thinking: Buffer | undefined): Buffer | undefined {
  const isEnabled = rawMember(thinking, "type")?.toString("latin1") === '"enabled"';
  return isEnabled ? Buffer.from('{"type":"disabled"}') : thinking;
}

/** A budget for thinking must be below the output limit, which may be lower than the one that it was chosen for. */
function budgetBelow(outputTokens: number): MemberEdit {
  return (thinking) => {
    const budget = Number(rawMember(thinking, "budget_tokens")?.toString("latin1"));
    if (!(budget >= outputTokens)) return thinking;
    const lowered = Math.max(outputTokens - 1, MIN_THINKING_TOKENS);
    return editMembers(thinking ?? NOTHING, { budget_tokens: replace(lowered) });
  };
}

function parseEnvelope(body: RequestBody): z.infer<typeof envelopeSchema> {
  const outlined = envelopeSchema.safeParse(body.outline);
  if (outlined.success) return outlined.data;
  // An error says what was found, and a long name is not in the outline.
  const result = envelopeSchema.safeParse(body.whole());
  if (!result.success) throw requestError(result.error.issues, body.whole());
  return result.data;
}

/** A beta's header and its body fields belong together: one without the other is rejected upstream. */
export function messagesHeaders(headers: ReadonlyMap<string, string>): Record<string, string> {
  const version = headers.get(HEADERS.version) ?? headers.get(HEADERS.versionNeutral) ?? MESSAGES_VERSION;
  const beta = headers.get(BETA_HEADER);
  return { [HEADERS.version]: version, ...(beta !== undefined && { [BETA_HEADER]: beta }) };
}

function passAnswer(body: Buffer, meter: Meter, { model, isUsageInclusive, reader, facts }: AnswerRules): Buffer {
  const events = eventsInBody(body);
  const answer = events === null ? withoutMark(body) : messageOf(events, reader);
  const json = parseMessage(answer, reader);
  let countedBytes = 0;
  for (const block of objectsIn(json["content"])) countedBytes += countOutput(meter, messagesOutput(block));
  countUnread(meter, findUnread(answer, { json, countedBytes }));
  meter.report(messagesUsage(json["usage"], { isInclusive: isUsageInclusive }) ?? {});
  const missing = mergeEdits(completeMessage(json, facts, meter.final().usage), completeStop(json));
  if (model === null && missing === null) return answer;
  return editMembers(answer, { ...(model !== null && { model: replace(model) }), ...missing });
}

function countUnread(meter: Meter, bytes: number): void {
  if (bytes > 0) meter.producedBytes(bytes, 0);
}

function parseMessage(body: Buffer, reader: ErrorReader): JsonObject {
  const json = parseWhole(body, reader);
  if (!Array.isArray(json["content"])) throw new GatewayError("upstream_error", "The model server's answer is not a message.");
  const failure = failureIn(json["stop_reason"]);
  if (failure !== null) throw failure;
  return json;
}

function createRules(meter: Meter, { model, isUsageInclusive, reader, facts }: AnswerRules): StreamRules {
  const usage = createStreamUsage(meter, { isInclusive: isUsageInclusive });
  const form = createEventForm(facts, model === null ? null : { model: replace(model) });
  let outcome: ReturnType<StreamRules["outcome"]> = "open";
  const unread = createUnreadText();

  function read({ data, event }: SseEvent, json: JsonObject | null): EventEdit {
    // The protocol has no such line: clients that parse all data end with an error.
    if (json === null) return "hide";
    if (outcome === "failed" || json["type"] === "error" || event === "error" || isObject(json["error"])) return fail(json);
    const failure = json["type"] === "message_delta" && isObject(json["delta"]) ? failureIn(json["delta"]["stop_reason"]) : null;
    if (failure !== null) return fail(json, failure);
    const countedBytes = countEvent(json);
    countUnread(meter, unread.find({ data, json, countedBytes }));
    report(json);
    const edit = form.complete({ data, json }, () => meter.final().usage);
    if (edit instanceof GatewayError) return failWith(edit);
    if (json["type"] === "message_stop" && outcome === "open") outcome = "complete";
    return edit;
  }

  /** Proxies in front of a server send errors in other shapes. Behind one, the client has its ending. */
  function fail(json: JsonObject, failure?: GatewayError): EventEdit {
    report(json);
    return outcome === "open" ? failWith(failure ?? readUpstreamErrorPayload(json, reader)) : "hide";
  }

  function failWith(error: GatewayError): EventEdit {
    if (outcome !== "open") return "hide";
    outcome = "failed";
    return error;
  }

  /** @returns bytes of its strings that are accounted for. */
  function countEvent(json: JsonObject): number {
    switch (json["type"]) {
      case "message_start": {
        const message = json["message"];
        const blocks = isObject(message) ? objectsIn(message["content"]) : [];
        return blocks.reduce((bytes, block) => bytes + countOutput(meter, messagesOutput(block)), 0);
      }
      case "content_block_start":
        return countOutput(meter, messagesOutput(json["content_block"]));
      case "content_block_delta":
      case "message_delta":
        return countOutput(meter, messagesOutput(json["delta"]));
      case "content_block_stop":
      case "message_stop":
      case "ping":
        return 0;
      default:
        // The client reads the text of an event of an unknown kind.
        return countOutput(meter, messagesOutput(json));
    }
  }

  function report(json: JsonObject): void {
    if (json["type"] === "message_start" && isObject(json["message"])) usage.start(json["message"]["usage"]);
    if (json["type"] === "message_delta") usage.update(json["usage"]);
  }

  return {
    read,
    isTyped: true,
    // Anthropic's SDKs read events by their names alone.
    nameOf: ({ type }) => (typeof type === "string" && EVENT_NAME.test(type) ? type : null),
    findText: findDeltaText,
    skimmed: meter.producedBytes,
    heldBytes: form.heldBytes,
    outcome: () => outcome,
    closing: () => "",
    limited: () =>
      [
        form.closeBlocks(),
        encodeMessagesEvent({
          type: "message_delta",
          delta: { stop_reason: "max_tokens", stop_sequence: null },
          usage: encodeMessagesUsage(meter.final().usage),
        }),
        encodeMessagesEvent({ type: "message_stop" }),
      ].join(""),
    failed: (error) => encodeErrorEvent("messages", error, facts.requestId),
    toStream(answer) {
      const missing = completeStop(parseMessage(answer, reader));
      return eventsOf(missing === null ? answer : editMembers(answer, missing));
    },
  };
}
