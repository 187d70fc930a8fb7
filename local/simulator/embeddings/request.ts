import * as z from "zod";
import { PromptError } from "../prompt.ts";

const tokens = z.array(z.int().nonnegative()).min(1);

const embeddingsRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string().min(1), tokens, z.array(z.string().min(1)).min(1).max(2048), z.array(tokens).min(1).max(2048)]),
  dimensions: z.int().positive().nullish(),
  encoding_format: z.enum(["float", "base64"]).nullish(),
});

/** An input to embed: a text, or its token ids. */
export type EmbeddedInput = string | readonly number[];

export interface EmbeddingsRequest {
  model: string;
  inputs: readonly EmbeddedInput[];
  dimensions: number;
  isBase64: boolean;
}

const DEFAULT_DIMENSIONS = 1_536;

/** @throws PromptError if the real servers answer 400. */
export function parseEmbeddingsRequest(body: unknown): EmbeddingsRequest {
  const result = embeddingsRequest.safeParse(body);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a request for embeddings");
  }
  const { model, input, dimensions, encoding_format: format } = result.data;
  return {
    model,
    inputs: inputsOf(input),
    dimensions: dimensions ?? DEFAULT_DIMENSIONS,
    isBase64: format === "base64",
  };
}

function inputsOf(input: z.infer<typeof embeddingsRequest>["input"]): readonly EmbeddedInput[] {
  if (typeof input === "string") return [input];
  const texts = input.filter((each) => typeof each !== "number");
  const ids = input.filter((each) => typeof each === "number");
  return ids.length > 0 ? [ids] : texts;
}
