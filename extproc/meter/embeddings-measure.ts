import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { readEmbeddingsRequest } from "../protocol/embeddings/request.ts";
import type { Inputs } from "../protocol/embeddings/input.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { heldTokensOf } from "./held-prompt.ts";
import type { InputMeasure } from "./input-measure.ts";
import { estimateTokens, MAX_TOKENS } from "./meter.ts";

/** Tokens that servers add around each input: its beginning, its end, an instruction of the model. */
const FRAME_TOKENS = 8;

/** Envoy has as much room for an answer as for a request. */
const MAX_ANSWER_BYTES = MAX_REQUEST_BYTES;
/** Of the largest widely used models. */
const LIKELY_DIMENSIONS = 3_072;
/** Four bytes in base64; a sign, a point and ten digits as text. */
const BYTES_PER_DIMENSION = { base64: 5.4, float: 13 } as const;

/**
 * The inputs of a request for embeddings, each with any instruction, and at most the model's context.
 * @throws GatewayError `invalid_request` (S21).
 */
export function measureEmbeddings(body: RequestBody, contextWindow: number | null): InputMeasure {
  const { inputs, instructionBytes, dimensions, format } = readEmbeddingsRequest(body);
  const read = (tokens: number) => Math.min(tokens, contextWindow ?? Infinity);
  const count = inputs.textBytes.length + inputs.tokens.length;
  return {
    heldTokens: sumOf(inputs, {
      ofText: (bytes) => read(heldTokensOf(bytes + instructionBytes) + FRAME_TOKENS),
      ofIds: (ids) => read(ids + heldTokensOf(instructionBytes) + FRAME_TOKENS),
    }),
    likelyTokens: sumOf(inputs, {
      ofText: (bytes) => read(estimateTokens(bytes + instructionBytes)),
      ofIds: (ids) => read(ids + estimateTokens(instructionBytes)),
    }),
    maxTokens: Math.min(count * (contextWindow ?? MAX_TOKENS), MAX_TOKENS),
    answerBytes: Math.min(Math.ceil(count * (dimensions ?? LIKELY_DIMENSIONS) * BYTES_PER_DIMENSION[format]), MAX_ANSWER_BYTES),
    remedy: "Send fewer or shorter inputs",
  };
}

interface Counts {
  ofText(bytes: number): number;
  ofIds(ids: number): number;
}

function sumOf({ textBytes, tokens }: Inputs, { ofText, ofIds }: Counts): number {
  return [...textBytes.map(ofText), ...tokens.map(ofIds)].reduce((sum, each) => sum + each, 0);
}
