import * as z from "zod";

/** Content parts of a chat request: validated where the gateway reads them, without unknown members. */

const text = z.string({ error: "a string" });

/** Marks that some clients put on parts and messages for the upstream's prompt cache. */
export const marks = { cache_control: z.unknown().optional(), prompt_cache_breakpoint: z.unknown().optional() };

const textPart = z.object({ type: z.literal(["text", "input_text", "output_text"]), text, ...marks });

const refusalPart = z.object({ type: z.literal("refusal"), refusal: text });

const imagePart = z.object({
  type: z.literal("image_url"),
  image_url: z.preprocess(
    (value) => (typeof value === "string" ? { url: value } : value),
    z.object(
      { url: z.string({ error: "the image's URL, a string" }), detail: text.nullish() },
      { error: "an object with a url" },
    ),
  ),
  ...marks,
});

const filePart = z.object({
  type: z.literal("file"),
  file: z.object(
    { filename: text.nullish(), file_data: text.nullish(), file_id: text.nullish() },
    { error: "an object with file_data" },
  ),
  ...marks,
});

const audioPart = z.object({ type: z.literal("input_audio") });

const part = z.discriminatedUnion("type", [textPart, refusalPart, imagePart, filePart, audioPart], {
  error: "a content part of type text, image_url or file",
});

/** A message's content: a string counts as one text part, null as none. */
export const contentSchema = z.preprocess(
  (value) => (typeof value === "string" ? [{ type: "text", text: value }] : (value ?? [])),
  z.array(part, { error: "a string or an array of content parts" }),
);

export type Part = z.infer<typeof part>;
export type PartOf<Type extends Part["type"]> = Extract<Part, { type: Type }>;
