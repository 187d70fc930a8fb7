import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { eventType } from "../event-type.ts";
import { isObject } from "../json/object.ts";
import { positionSchema } from "../json/position.ts";
import { rawMember } from "../json/scan.ts";
import type { SseEvent } from "../sse.ts";
import { parseUpstreamJson } from "../json/upstream-json.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../upstream-error.ts";
import { citationSchema, parseBlock, toCitation, type AnswerBlock, type Citation } from "./answer-block.ts";
import type { MessagesAnswer } from "./answer.ts";
import type { BlockPositions } from "./block-positions.ts";

/** A step of a message's stream, as the protocol's events report it. */
export type AnswerEvent =
  | { type: "message_start"; id: string; usage: unknown }
  | { type: "content_block_start"; index: number; block: AnswerBlock }
  | { type: "content_block_delta"; index: number; delta: AnswerDelta }
  | { type: "content_block_stop"; index: number }
  | { type: "message_delta"; stopReason: string | null; stopSequence: string | null; explanation: string | null; usage: unknown }
  | { type: "message_stop" }
  | { type: "ping" }
  | { type: "error"; error: GatewayError };

export type AnswerDelta =
  | { type: "text_delta"; text: string }
  | { type: "thinking_delta"; thinking: string }
  | { type: "signature_delta"; signature: string }
  | { type: "input_json_delta"; partialJson: string }
  | { type: "citations_delta"; citations: Citation[] }
  /** Of a kind that the protocol does not have; `hasText`: it contains text nevertheless. */
  | { type: "other"; hasText: boolean };

const index = positionSchema;
const text = z.string().nullish();

const eventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message_start"), message: z.object({ id: text, usage: z.unknown().optional() }) }),
  z.object({ type: z.literal("content_block_start"), index, content_block: z.unknown().optional() }),
  z.object({ type: z.literal("content_block_delta"), index, delta: z.looseObject({ type: z.string() }) }),
  z.object({ type: z.literal("content_block_stop"), index }),
  z.object({
    type: z.literal("message_delta"),
    delta: z
      .object({ stop_reason: text, stop_sequence: text, stop_details: z.object({ explanation: text }).nullish().catch(null) })
      .nullish(),
    usage: z.unknown().optional(),
  }),
  z.object({ type: z.literal("message_stop") }),
  z.object({ type: z.literal("ping") }),
  z.object({ type: z.literal("error") }),
]);
type WireEvent = z.infer<typeof eventSchema>;

/** Proxies that leave out empty members leave it out of an empty delta. */
const piece = text.transform((value) => value ?? "");

const deltaSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text_delta"), text: piece }),
  z.object({ type: z.literal("thinking_delta"), thinking: piece }),
  z.object({ type: z.literal("signature_delta"), signature: piece }),
  z.object({ type: z.literal("input_json_delta"), partial_json: piece }),
  z.object({ type: z.literal("citations_delta"), citation: citationSchema }),
]);

const TYPES = namesOf(eventSchema.options);
const DELTA_TYPES = namesOf(deltaSchema.options);

/**
 * One event of an upstream's stream; null for what this gateway need not know (new event types, `[DONE]`).
 * @param positions of the message's blocks, by which its events are numbered.
 * @throws GatewayError `upstream_error` when a known event is malformed.
 */
export function parseEvent(
  { event, data }: Pick<SseEvent, "event" | "data">,
  { reader, positions }: { reader: ErrorReader; positions: BlockPositions },
): AnswerEvent | null {
  if (data.trim() === "[DONE]") return null;
  const json = parseUpstreamJson(data);
  // Proxies in front of a server send errors in their own shapes, without a type.
  const type = eventType(json["type"], event) ?? (isObject(json["error"]) ? "error" : null);
  if (!TYPES.has(type)) return null;
  const parsed = eventSchema.safeParse({ ...json, type });
  if (!parsed.success) throw malformed(parsed.error);
  return parsed.data.type === "error"
    ? { type: "error", error: readUpstreamErrorPayload(json, reader) }
    : toEvent(parsed.data, data, positions);
}

/** A whole message as the events that would have streamed it. */
export function eventsOf(answer: MessagesAnswer): AnswerEvent[] {
  const { id, content, usage, stopReason, stopSequence, explanation } = answer;
  const blocks = content.flatMap((block, index): AnswerEvent[] => [
    { type: "content_block_start", index, block },
    { type: "content_block_stop", index },
  ]);
  return [
    { type: "message_start", id, usage },
    ...blocks,
    { type: "message_delta", stopReason, stopSequence, explanation, usage },
    { type: "message_stop" },
  ];
}

function toEvent(event: Exclude<WireEvent, { type: "error" }>, data: string, positions: BlockPositions): AnswerEvent {
  switch (event.type) {
    case "message_start":
      return { type: event.type, id: event.message.id ?? "", usage: event.message.usage };
    case "content_block_start":
      return {
        type: event.type,
        index: positions.begin(event.index),
        block: parseBlock(event.content_block, rawBlock(event.content_block, data)),
      };
    case "content_block_delta":
      return {
        type: event.type,
        index: positions.find(event.index) ?? positions.begin(event.index),
        delta: parseDelta(event.delta),
      };
    case "message_delta":
      return {
        type: event.type,
        // Some servers write an empty text for none.
        stopReason: event.delta?.stop_reason || null,
        stopSequence: event.delta?.stop_sequence ?? null,
        explanation: event.delta?.stop_details?.explanation ?? null,
        usage: event.usage,
      };
    case "content_block_stop":
      return { type: event.type, index: positions.find(event.index) ?? positions.begin(event.index) };
    case "message_stop":
    case "ping":
      return event;
  }
}

/** Only a tool's input is needed as written; most blocks start without one. */
function rawBlock(block: unknown, data: string): Buffer {
  const hasInput = typeof block === "object" && block !== null && "input" in block;
  return (hasInput ? rawMember(Buffer.from(data), "content_block") : undefined) ?? Buffer.alloc(0);
}

function parseDelta(delta: { type: string; text?: unknown }): AnswerDelta {
  if (!DELTA_TYPES.has(delta.type)) return { type: "other", hasText: typeof delta.text === "string" && delta.text !== "" };
  const parsed = deltaSchema.safeParse(delta);
  if (!parsed.success) throw malformed(parsed.error);
  switch (parsed.data.type) {
    case "input_json_delta":
      return { type: "input_json_delta", partialJson: parsed.data.partial_json };
    case "citations_delta":
      return { type: "citations_delta", citations: toCitation(parsed.data.citation) };
    case "text_delta":
    case "thinking_delta":
    case "signature_delta":
      return parsed.data;
  }
}

function malformed(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The model server sent a malformed event.", { cause });
}

function namesOf(options: readonly { shape: { type: { value: string } } }[]): ReadonlySet<unknown> {
  return new Set(options.map((option) => option.shape.type.value));
}
