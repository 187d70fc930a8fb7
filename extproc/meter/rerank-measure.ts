import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { readRerankRequest } from "../protocol/rerank/request.ts";
import { HELD_BYTES_PER_TOKEN } from "./held-prompt.ts";
import type { InputMeasure } from "./input-measure.ts";
import { estimateTokens } from "./meter.ts";

/** Tokens that servers add to each document and its query: separators, or the instruction of a language model that judges them. */
const FRAME_TOKENS = 100;
/** No instruction of a server's own is this long. Text has at most a token for each byte. */
const MAX_FRAME_TOKENS = 512;

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
  const sumOf = (tokensOf: (bytes: number) => number) =>
    documentBytes.reduce((sum, bytes) => sum + Math.min(tokensOf(sharedBytes + bytes), contextWindow ?? Infinity), 0);
  // Many servers return the documents whether they are asked for or not.
  const answerBytes = documentBytes.reduce((sum, bytes) => sum + bytes + RESULT_BYTES, 0);
  return {
    heldTokens: sumOf((bytes) => Math.ceil(bytes / HELD_BYTES_PER_TOKEN) + FRAME_TOKENS),
    likelyTokens: sumOf(estimateTokens),
    maxTokens: sumOf((bytes) => bytes + MAX_FRAME_TOKENS),
    answerBytes: Math.min(answerBytes, MAX_ANSWER_BYTES),
    remedy: "Send fewer or shorter documents",
  };
}
