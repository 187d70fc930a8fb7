import { GatewayError } from "../../../contract/errors.ts";
import { noAnswer, type InputAnswer } from "../input-answer.ts";
import { ExcessiveStructure, REQUEST_BOUNDS } from "../json/bounds.ts";
import { count, member } from "../json/count.ts";
import { parseObject, type JsonObject } from "../json/object.ts";
import { ExcessiveOutline, outlineOf, type Outline } from "../json/outline.ts";
import type { ErrorReader } from "../upstream-error.ts";

/**
 * Reads an answer without the texts of its documents.
 * @param documents how many the request has.
 * @throws GatewayError `upstream_error` if it is not a ranking of these documents; the upstream's own error if it is one.
 */
export function readRerankAnswer(body: Buffer, documents: number, reader: ErrorReader): InputAnswer {
  const outline = outlineOfAnswer(body);
  const json = parseObject(outline.text.toString("utf8"));
  const results = json?.["results"];
  if (json === null || !Array.isArray(results)) throw noAnswer(json, "The model server's answer has no list of results.", reader);
  checkResults(results, documents);
  return { outline, inputTokens: reportedTokens(json), units: reportedSearches(json) };
}

function outlineOfAnswer(body: Buffer): Outline {
  try {
    return outlineOf(body, REQUEST_BOUNDS);
  } catch (cause) {
    if (!(cause instanceof ExcessiveStructure || cause instanceof ExcessiveOutline)) throw cause;
    throw new GatewayError("upstream_error", "The model server's answer is larger than a ranking can be.", { cause });
  }
}

/** Clients look up their documents by these numbers, and trust them. */
function checkResults(results: readonly unknown[], documents: number): void {
  const seen = new Set<number>();
  for (const result of results) {
    const index = member(result, "index");
    const score = member(result, "relevance_score");
    if (typeof index !== "number" || !Number.isInteger(index) || index < 0 || index >= documents || seen.has(index))
      throw new GatewayError(
        "upstream_error",
        "The model server's answer ranks a document that the request does not have, or one document twice.",
      );
    if (typeof score !== "number" || !Number.isFinite(score))
      throw new GatewayError("upstream_error", "The model server's answer has results without a score.");
    seen.add(index);
  }
}

/** As Cohere reports them, and services that pass its models on. */
function reportedSearches({ meta }: JsonObject): number | undefined {
  return count(member(meta, "billed_units"), "search_units");
}

/**
 * Tokens as Jina, vLLM and llama.cpp report them in `usage`, and Cohere and others in `meta`. Servers that bill by searches write
 * zero tokens, or none: the first number above zero counts.
 */
function reportedTokens({ usage, meta }: JsonObject): number | undefined {
  const billed = member(meta, "billed_units");
  const counts = [
    count(usage, "total_tokens"),
    count(usage, "prompt_tokens"),
    count(billed, "input_tokens"),
    count(billed, "total_tokens"),
    count(member(meta, "tokens"), "input_tokens"),
  ].filter((each) => each !== undefined);
  return counts.find((each) => each > 0) ?? counts[0];
}
