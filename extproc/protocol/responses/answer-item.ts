import * as z from "zod";
import { readArguments } from "../tool-arguments.ts";

/** Items of a server's output: validated where the gateway needs them, lenient about everything else. */

const text = z.string().nullish().catch(null);
const texts = z
  .array(z.object({ text: z.string() }))
  .nullish()
  .catch(null);

const index = z.int().nonnegative().nullish().catch(null);

const annotationSchema = z.object({
  type: z.literal("url_citation"),
  url: z.string(),
  title: text,
  start_index: index,
  end_index: index,
});
const annotations = z.array(z.unknown()).nullish().catch(null);

const partSchema = z.discriminatedUnion("type", [
  // Some servers give a part the type that chat has for it.
  z.object({ type: z.literal(["output_text", "text"]), text: z.string(), annotations }),
  z.object({ type: z.literal("refusal"), refusal: z.string() }),
]);

/** Some servers write a text where others have a list of parts. */
const contentSchema = z.union([
  z.array(z.unknown()),
  z.string().transform((written): readonly unknown[] => [{ type: "output_text", text: written }]),
]);

const itemSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("message"), content: contentSchema.nullish() }),
  z.object({ type: z.literal("reasoning"), id: text, summary: texts, content: texts, encrypted_content: text }),
  z.object({
    type: z.literal("function_call"),
    id: text,
    call_id: text,
    name: text,
    arguments: z.unknown().optional().transform(readArguments),
  }),
]);

export type AnswerItem = z.infer<typeof itemSchema>;
export type AnswerItemOf<Type extends AnswerItem["type"]> = Extract<AnswerItem, { type: Type }>;

export interface Citation {
  url: string;
  title: string | null;
  /** Its index in its part's text; null if the server does not give it. */
  range: { start: number; end: number } | null;
}

/** One part of a message; its kind decides where its pieces come from. */
export interface AnswerPart {
  kind: "text" | "refusal";
  text: string;
  citations: Citation[];
}

/** Null for an item of a kind that no other protocol has, such as the work of the server's own tools. */
export function parseItem(item: unknown): AnswerItem | null {
  return itemSchema.safeParse(item).data ?? null;
}

/** The parts of a message, each at its own index; null for one of a kind that no other protocol has. */
export function partsOf({ content }: AnswerItemOf<"message">): (AnswerPart | null)[] {
  return (content ?? []).map((part) => {
    const parsed = partSchema.safeParse(part).data;
    if (parsed === undefined) return null;
    return parsed.type === "refusal"
      ? { kind: "refusal", text: parsed.refusal, citations: [] }
      : { kind: "text", text: parsed.text, citations: (parsed.annotations ?? []).flatMap(toCitation) };
  });
}

/** None if it is not a web source. */
export function toCitation(annotation: unknown): Citation[] {
  const parsed = annotationSchema.safeParse(annotation).data;
  if (parsed === undefined) return [];
  const { url, title, start_index: start, end_index: end } = parsed;
  const range = typeof start === "number" && typeof end === "number" && start < end ? { start, end } : null;
  return [{ url, title: title ?? null, range }];
}
