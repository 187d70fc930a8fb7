import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { UPSTREAM_PATHS } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { eventsInBody, withoutMark } from "../../protocol/body-sniffer.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { encodeForeign } from "../../protocol/json/raw.ts";
import { scanElements } from "../../protocol/json/scan.ts";
import {
  editMembers,
  mergeEdits,
  replace,
  within,
  write,
  writeAll,
  type MemberEdit,
  type MemberEdits,
} from "../../protocol/json/splice.ts";
import { requestError } from "../../protocol/request-error.ts";
import { responsesUsage } from "../../protocol/responses/usage.ts";
import { FINAL_EVENTS } from "../../protocol/responses/final-events.ts";
import { encodeError } from "../../protocol/responses/response.ts";
import { encodeSseEvent, type SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { refuseStored } from "../responses/stored.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { createCompletedResponse, editsInside } from "./completed-response.ts";
import { errorReader } from "./error-reader.ts";
import { limitEdits } from "./output-limit.ts";
import { leaveUnknownReasoning } from "./own-reasoning.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";
import { createResponseCount, type ResponseCount } from "./response-count.ts";
import { completeWholeResponse, type CompletedEvent } from "./response-form.ts";
import type { ResponseFacts } from "./response-head.ts";
import { refuseSeveralAnswers } from "./single-answer.ts";
import { createPassthroughStream, type EventEdit, type StreamRules } from "./stream.ts";
import { eventsOfResponse } from "./streamed-response.ts";
import { refuseUnpriced } from "./unpriced-features.ts";
import { responseOf } from "./unstreamed-response.ts";
import { parseWhole } from "./whole-answer.ts";
import { incomplete } from "../../protocol/broken-answer.ts";

const INPUT = { error: "a string, or an array with at least one item" };

/** What the gateway itself reads of a request for a Responses upstream; the upstream judges the rest. */
const envelopeSchema = z.object({
  model: z.string({ error: "the name of a model" }).min(1, { error: "the name of a model" }),
  input: z.union([z.string(), z.array(z.unknown()).min(1, INPUT)], INPUT),
  stream: z.boolean({ error: "true or false" }).nullish(),
});

const OPEN_BRACKET = 91;
const NULL = Buffer.from("null");

interface AnswerRules {
  facts: ResponseFacts;
  /** Differences from the server's own response; null if there are none. */
  edits: MemberEdits | null;
  /** A count for one answer, complete or streamed. */
  createCount(meter: Meter): ResponseCount;
  reader: ErrorReader;
}

/**
 * A Responses client, a Responses upstream: every byte passes unchanged, except for the model's name, the output limit and
 * what events lack (response-form.ts). The server is instructed to store nothing.
 * @throws GatewayError `invalid_request` for fields that the gateway itself must read, and for content that is stored elsewhere
 * (S21).
 */
export function createResponsesPassthrough(input: TranslationInput): Translation {
  const { body, backend, requestId, nowSeconds } = input;
  // A stored prompt may stand in place of the input.
  refuseStored(body.outline);
  const request = parseEnvelope(body);
  refusePriceModifiers(body);
  refuseUnpriced(body, backend);
  refuseSeveralAnswers(body);
  const createCount = createResponseCount(body);
  const edits = responseEdits(input, request.model);
  const facts = { requestId, model: request.model, nowSeconds };
  const rules: AnswerRules = { facts, edits, createCount, reader: errorReader("responses", input) };
  return {
    upstream: { path: UPSTREAM_PATHS.responses, body: translateBody(input), headers: {} },
    dropped: [],
    wantsStream: request.stream === true,
    response: (answer, meter) => passAnswer(answer, meter, rules),
    stream: (meter) => createPassthroughStream(createRules(meter, rules)),
  };
}

/** For the server, nothing is stored, and no response is continued. */
function responseEdits({ backend, storage = null }: TranslationInput, model: string): AnswerRules["edits"] {
  const edits: Record<string, MemberEdit> = {
    ...(backend.upstreamModel !== model && { model: replace(model) }),
    ...(storage !== null && {
      store: write(storage.isStored),
      previous_response_id: write(storage.previousResponseId),
    }),
  };
  return Object.keys(edits).length === 0 ? null : edits;
}

function translateBody({ body, backend, outputTokens, storage = null }: TranslationInput): Buffer {
  const isSealed = storage?.isStored === true && backend.profile.thinkingControl === "reasoning_effort";
  return body.edit({
    ...(isSealed && { include: includeSealedReasoning }),
    ...(typeof body.outline["stream"] === "boolean" && { stream: replace(body.outline["stream"]) }),
    model: write(backend.upstreamModel),
    store: write(false),
    ...limitEdits(body, { field: "max_output_tokens", tokens: outputTokens }),
    input: leaveUnknownReasoning(backend.profile),
  });
}

/** A server that stores nothing accepts reasoning back only in this form. */
function includeSealedReasoning(include: Buffer | undefined): Buffer | undefined {
  const sealed = '"reasoning.encrypted_content"';
  if (include === undefined || include.equals(NULL)) return Buffer.from(`[${sealed}]`);
  // A value that is not a list is left to the server to reject.
  if (include.at(0) !== OPEN_BRACKET || include.includes(sealed)) return include;
  return Buffer.from(`[${[sealed, ...scanElements(include).map(String)].join(",")}]`);
}

function parseEnvelope(body: RequestBody): z.infer<typeof envelopeSchema> {
  const outlined = envelopeSchema.safeParse(body.outline);
  if (outlined.success) return outlined.data;
  // An error says what was found, and a long name is not in the outline.
  const result = envelopeSchema.safeParse(body.whole());
  if (!result.success) throw requestError(result.error.issues, body.whole());
  return result.data;
}

function passAnswer(body: Buffer, meter: Meter, { facts, edits, createCount, reader }: AnswerRules): Buffer {
  const events = eventsInBody(body);
  const answer = events === null ? withoutMark(body) : responseOf(events, reader, facts);
  const json = parseResponse(answer, reader);
  createCount(meter).whole(json, answer.toString("utf8"));
  meter.report(responsesUsage(json["usage"]) ?? {});
  const all = mergeEdits(
    edits,
    completeWholeResponse(json, facts, () => meter.final().usage),
  );
  return all === null ? answer : editMembers(answer, all);
}

/** @throws GatewayError `upstream_error` when it is not one, or not finished; the upstream's own error when it is one. */
function parseResponse(body: Buffer, reader: ErrorReader): JsonObject {
  const json = parseWhole(body, reader);
  if (!Array.isArray(json["output"])) throw new GatewayError("upstream_error", "The model server's answer is not a response.");
  if (!isFinished(json)) throw incomplete();
  return json;
}

function createRules(meter: Meter, { facts, edits, createCount, reader }: AnswerRules): StreamRules {
  const count = createCount(meter);
  const completed = createCompletedResponse(facts, { edits, counted: () => meter.final().usage });
  const { soFar } = completed;
  let outcome: ReturnType<StreamRules["outcome"]> = "open";

  function read({ data, event }: SseEvent, json: JsonObject | null): EventEdit {
    // The protocol has no such line.
    if (json === null) return "hide";
    const { response } = json;
    const type = json["type"] ?? event;
    // Proxies in front of a server send errors in their own shapes.
    const isError = type === "error" || (typeof type !== "string" && isObject(json["error"]));
    const isFailure = type === "response.failed" || (ENDINGS.has(type) && !isFinished(response));
    // The client has its ending.
    const isHidden = outcome === "failed" || (outcome === "complete" && (isError || isFailure));
    if (!isHidden && !isError) count.event(json, data);
    if (isObject(response)) meter.report(responsesUsage(response["usage"]) ?? {});
    if (isHidden) return "hide";
    if (isError) {
      outcome = "failed";
      return readUpstreamErrorPayload(json, reader);
    }
    if (type === "response.failed") {
      outcome = "failed";
      const failed = { ...edits, error: write(encodeError(failureOf(response))) };
      const change = completed.complete(json);
      return change === "hide" || change instanceof GatewayError ? change : changeOf(change, failed);
    }
    if (isFailure) {
      outcome = "failed";
      return failureOf(response);
    }
    if (outcome === "open" && ENDINGS.has(type)) outcome = "complete";
    const change = completed.read(json, data);
    if (change instanceof GatewayError) outcome = "failed";
    return change === "hide" || change instanceof GatewayError ? change : changeOf(change, isObject(response) ? edits : null);
  }

  function failureOf(response: unknown): GatewayError {
    const isExplained = isObject(response) && isObject(response["error"]);
    return isExplained ? readUpstreamErrorPayload(response, reader) : incomplete();
  }

  function changeOf(completed: CompletedEvent | null, response: MemberEdits | null): EventEdit {
    if (completed === null) return response === null ? "keep" : { members: { response: within(response) } };
    const { values, inside, missing } = completed;
    const all = response === null ? inside : { ...inside, response: { ...response, ...inside.response } };
    return {
      members: { ...writeAll(values), ...editsInside(all) },
      missing: missing.map(encodeMissing).join(""),
      ...(typeof values["type"] === "string" && { name: values["type"] }),
    };
  }

  function encodeMissing(event: JsonObject): string {
    const written = Buffer.from(encodeForeign(event));
    const edited = edits === null ? written : editMembers(written, { response: within(edits) });
    return encodeSseEvent(String(event["type"]), edited.toString("utf8"));
  }

  return {
    read,
    isTyped: true,
    // Each event has its own number: none differs from another only by its text.
    findText: () => undefined,
    skimmed: meter.producedBytes,
    outcome: () => outcome,
    closing: () => "",
    limited: () => soFar.incomplete(meter.final().usage, "max_output_tokens"),
    failed: soFar.failed,
    toStream(answer) {
      parseResponse(answer, reader);
      return eventsOfResponse(answer);
    },
  };
}

const ENDINGS: ReadonlySet<unknown> = new Set(FINAL_EVENTS);

/** Some servers end every stream with `response.completed`, whatever its status says. */
function isFinished(response: unknown): boolean {
  if (!isObject(response)) return true;
  const status = response["status"] ?? "completed";
  return !isObject(response["error"]) && (status === "completed" || status === "incomplete");
}
