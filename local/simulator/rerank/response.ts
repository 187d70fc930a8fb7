import { createHash } from "node:crypto";
import type { Directive } from "../directive.ts";
import { embed } from "../embeddings/vector.ts";
import { countTokens } from "../prompt.ts";
import type { RerankRequest } from "./request.ts";

const DIMENSIONS = 256;
/** Cohere's: so many documents are one search, and a long document counts once for each part of this many tokens. */
const DOCUMENTS_PER_SEARCH = 100;
const PART_TOKENS = 500;

/** The documents that share words with the query come first. Usage is reported as vLLM does it, and as Cohere does it. */
export function rerankAnswer(
  { model, query, documents, topN, returnsDocuments }: RerankRequest,
  { withoutUsage }: Directive,
): object {
  const asked = embed(query, DIMENSIONS);
  const results = documents
    .map((text, index) => ({
      index,
      relevance_score: scoreOf(asked, embed(text, DIMENSIONS)),
      ...(returnsDocuments ? { document: { text } } : {}),
    }))
    .sort((one, other) => other.relevance_score - one.relevance_score)
    .slice(0, topN);
  const counts = documents.map((text) => countTokens(query, text));
  const tokens = counts.reduce((sum, each) => sum + each, 0);
  const parts = counts.reduce((sum, each) => sum + Math.ceil(each / PART_TOKENS), 0);
  const searches = Math.ceil(parts / DOCUMENTS_PER_SEARCH);
  return {
    id: `rerank-${createHash("sha256")
      .update(JSON.stringify([model, query, documents]))
      .digest("hex")
      .slice(0, 24)}`,
    model,
    results,
    ...(withoutUsage
      ? {}
      : {
          usage: { prompt_tokens: tokens, total_tokens: tokens },
          meta: { api_version: { version: "2" }, billed_units: { search_units: searches }, tokens: { input_tokens: tokens } },
        }),
  };
}

/** The cosine of two vectors of length 1, from 0 to 1 and in six places, as servers write it. */
function scoreOf(one: Float32Array, other: Float32Array): number {
  const cosine = one.reduce((sum, each, at) => sum + each * (other[at] ?? 0), 0);
  return Math.round(Math.min(Math.max(cosine, 0), 1) * 1e6) / 1e6;
}
