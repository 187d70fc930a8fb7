import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { JsonObject } from "../json/object.ts";

const index = z.int().nonnegative();
const position = { output_index: index };
const inPart = { ...position, content_index: index };

/** The events of a server's stream from which an answer is read; the others repeat them, or concern its own tools. */
const eventSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("response.created"), response: z.object({ id: z.string().nullish() }) }),
  z.object({ type: z.literal("response.output_item.added"), ...position, item: z.unknown() }),
  z.object({ type: z.literal("response.output_item.done"), ...position, item: z.unknown() }),
  z.object({ type: z.literal("response.output_text.delta"), ...inPart, delta: z.string() }),
  z.object({ type: z.literal("response.refusal.delta"), ...inPart, delta: z.string() }),
  z.object({ type: z.literal("response.output_text.annotation.added"), ...inPart, annotation: z.unknown() }),
  z.object({ type: z.literal("response.reasoning_summary_text.delta"), ...position, summary_index: index, delta: z.string() }),
  z.object({ type: z.literal("response.reasoning_text.delta"), ...position, content_index: index, delta: z.string() }),
  z.object({ type: z.literal("response.function_call_arguments.delta"), ...position, delta: z.string() }),
  z.object({ type: z.literal("response.completed"), response: z.unknown() }),
  z.object({ type: z.literal("response.incomplete"), response: z.unknown() }),
  z.object({ type: z.literal("response.failed"), response: z.unknown() }),
]);
export type AnswerEvent = z.infer<typeof eventSchema>;

const TYPES: ReadonlySet<unknown> = new Set(eventSchema.options.map(({ shape }) => shape.type.value));

/** Null for an event that the gateway can ignore. @throws GatewayError `upstream_error` when a known event is malformed. */
export function readEvent(json: JsonObject, type: unknown): AnswerEvent | null {
  if (!TYPES.has(type)) return null;
  const parsed = eventSchema.safeParse({ ...json, type });
  if (parsed.success) return parsed.data;
  throw new GatewayError("upstream_error", "The model server sent a malformed event.", { cause: parsed.error });
}
