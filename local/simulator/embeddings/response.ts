import type { Directive } from "../directive.ts";
import type { EmbeddingsRequest } from "./request.ts";
import { countInput, embed } from "./vector.ts";

export function embeddingsAnswer(
  { model, inputs, dimensions, isBase64 }: EmbeddingsRequest,
  { withoutUsage }: Directive,
): object {
  const tokens = inputs.reduce((sum, input) => sum + countInput(input), 0);
  return {
    object: "list",
    data: inputs.map((input, index) => {
      const vector = embed(input, dimensions);
      return { object: "embedding", index, embedding: isBase64 ? base64Of(vector) : [...vector] };
    }),
    model,
    ...(withoutUsage ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } }),
  };
}

/** Little-endian, as on every machine that this runs on. */
function base64Of({ buffer, byteOffset, byteLength }: Float32Array): string {
  return Buffer.from(buffer, byteOffset, byteLength).toString("base64");
}
