import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { isObject, type JsonObject } from "../json/object.ts";
import { positionIn, positionSchema } from "../json/position.ts";

/** Of an item; llama.cpp leaves it out, and names the item by its id. */
const outputIndex = positionSchema.transform(positionIn);
/** Of a part; where it is left out, there is one. */
const partIndex = outputIndex.transform((value) => value ?? 0);
/** Proxies that leave out empty members leave it out of an empty delta. */
const delta = z
  .string()
  .nullish()
  .transform((value) => value ?? "");
/** It repeats the pieces, of a server that sends any. */
const repeated = delta.catch("");

const whole = { output_index: outputIndex, item: z.unknown() };
const piece = { output_index: outputIndex, item_id: z.string().nullish().catch(null) };
const inContent = { ...piece, content_index: partIndex };

/** The items came with their own events; some servers leave them out of the last one. */
const ended = z
  .unknown()
  .transform((response) => (isObject(response) ? { ...response, output: response["output"] ?? [] } : response));

/** The events of a server's stream from which an answer is read; the others repeat them, or concern its own tools. */
const eventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("response.created"), response: z.object({ id: z.string().nullish() }) }),
  z.object({ type: z.literal("response.output_item.added"), ...whole }),
  z.object({ type: z.literal("response.output_item.done"), ...whole }),
  z.object({ type: z.literal("response.output_text.delta"), ...inContent, delta }),
  z.object({ type: z.literal("response.refusal.delta"), ...inContent, delta }),
  z.object({ type: z.literal("response.output_text.annotation.added"), ...inContent, annotation: z.unknown() }),
  z.object({ type: z.literal("response.reasoning_summary_text.delta"), ...piece, summary_index: partIndex, delta }),
  z.object({ type: z.literal("response.reasoning_text.delta"), ...inContent, delta }),
  z.object({ type: z.literal("response.function_call_arguments.delta"), ...piece, delta }),
  z.object({ type: z.literal("response.output_text.done"), ...inContent, text: repeated }),
  z.object({ type: z.literal("response.function_call_arguments.done"), ...piece, arguments: repeated }),
  z.object({ type: z.literal("response.completed"), response: ended }),
  z.object({ type: z.literal("response.incomplete"), response: ended }),
  z.object({ type: z.literal("response.failed"), response: ended }),
]);
export type AnswerEvent = z.infer<typeof eventSchema>;
/** An item that begins or ends. */
export type ItemEvent = Extract<AnswerEvent, { type: `response.output_item.${string}` }>;
/** A part of an item. */
export type PieceEvent = Extract<AnswerEvent, { item_id?: unknown }>;

const TYPES: ReadonlySet<unknown> = new Set(eventSchema.options.map(({ shape }) => shape.type.value));

/** Null for an event that the gateway can ignore. @throws GatewayError `upstream_error` when a known event is malformed. */
export function readEvent(json: JsonObject, type: unknown): AnswerEvent | null {
  if (!TYPES.has(type)) return null;
  const parsed = eventSchema.safeParse({ ...json, type });
  if (parsed.success) return parsed.data;
  throw new GatewayError("upstream_error", "The model server sent a malformed event.", { cause: parsed.error });
}
