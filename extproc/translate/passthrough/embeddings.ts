import { EMBEDDINGS_PATH } from "../../../contract/protocol.ts";
import { embeddingsUsage, readEmbeddingsAnswer } from "../../protocol/embeddings/answer.ts";
import { editMembers, replace, write } from "../../protocol/json/splice.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import { refusePriceModifiers } from "./price-modifiers.ts";

/**
 * Embeddings, from any server that speaks chat completions: every byte passes unchanged, except for the model's name. Only the
 * members next to the vectors are read. The request is checked before (protocol/embeddings/request.ts).
 */
export function createEmbeddings({ body, backend, model }: TranslationInput): Translation {
  refusePriceModifiers(body);
  const { upstreamModel } = backend;
  const asked = body.member("model");
  const name = typeof asked === "string" ? asked : model.name;
  return {
    upstream: { path: EMBEDDINGS_PATH, body: body.edit({ model: write(upstreamModel) }), headers: {} },
    dropped: [],
    wantsStream: false,
    response(received, meter) {
      const { json, outline } = readEmbeddingsAnswer(received);
      meter.report({ ...embeddingsUsage(json), outputTokens: 0 });
      return name === upstreamModel ? received : editMembers(received, { model: replace(name) }, outline);
    },
    stream() {
      throw new Error("embeddings are never streamed");
    },
  };
}
