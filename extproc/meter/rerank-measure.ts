import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { readRerankRequest } from "../protocol/rerank/request.ts";
import { heldTokensOf } from "./held-prompt.ts";
import type { InputMeasure } from "./input-measure.ts";
import { estimateTokens } from "./meter.ts";

/** Tokens that servers add to each document and its query: separators, or the instruction of a language model that judges them. */
const FRAME_TOKENS = 100;
/** No instruction of a server's own is this long. Text has at most a token for each byte. */
const MAX_FRAME_TOKENS = 512;

/** What Cohere bills as one search: a query with this many documents (docs/billing.md). */
const DOCUMENTS_PER_SEARCH = 100;
/** A document that is longer than this with the query counts once for each part. */
const PART_TOKENS = 500;
/** Each part has the query again, which leaves at least half of it to the document. */
const MIN_PART_TOKENS = 250;

/** Envoy has as much room for an answer as for a request. */
const MAX_ANSWER_BYTES = MAX_REQUEST_BYTES;
/** Of one result without its document. */
const RESULT_BYTES = 128;

/**
 * The documents of a request for a ranking, each with the query and any instruction, which servers read together: at most the
 * model's context.
 * @throws GatewayError `invalid_request` (S21).
 */
export function measureRerank(body: RequestBody, contextWindow: number | null): InputMeasure {
  const { queryBytes, instructionBytes, documentBytes } = readRerankRequest(body);
  const sharedBytes = queryBytes + instructionBytes;
  const read = (tokensOf: (bytes: number) => number) =>
    documentBytes.map((bytes) => Math.min(tokensOf(sharedBytes + bytes), contextWindow ?? Infinity));
  // Many servers return the documents whether they are asked for or not.
  const answerBytes = documentBytes.reduce((sum, bytes) => sum + bytes + RESULT_BYTES, 0);
  return {
    heldTokens: sumOf(read((bytes) => heldTokensOf(bytes) + FRAME_TOKENS)),
    likelyTokens: sumOf(read(estimateTokens)),
    maxTokens: sumOf(read((bytes) => bytes + MAX_FRAME_TOKENS)),
    units: {
      held: searchesOf(read(heldTokensOf), PART_TOKENS),
      likely: searchesOf(read(estimateTokens), PART_TOKENS),
      max: searchesOf(
        read((bytes) => bytes),
        MIN_PART_TOKENS,
      ),
    },
    answerBytes: Math.min(answerBytes, MAX_ANSWER_BYTES),
    remedy: "Send fewer or shorter documents",
  };
}

function sumOf(counts: readonly number[]): number {
  return counts.reduce((sum, each) => sum + each, 0);
}

/** @param tokens of the query with each document. */
function searchesOf(tokens: readonly number[], partTokens: number): number {
  return Math.ceil(sumOf(tokens.map((each) => Math.ceil(each / partTokens))) / DOCUMENTS_PER_SEARCH);
}
