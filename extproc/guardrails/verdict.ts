import * as z from "zod";
import { ANSWER_BOUNDS, ExcessiveStructure, parseWithin } from "../protocol/json/bounds.ts";

/** A hook's answer about all texts of a request. */
export type Verdict =
  | { kind: "allowed" }
  /** @member text number of the first text that is refused, from 0; null if the hook judged all at once. */
  | { kind: "refused"; text: number | null; categories: readonly string[] }
  /** The answer is not in OpenAI's form, or lacks texts. */
  | { kind: "unreadable" };

const answerSchema = z.object({
  results: z.array(z.object({ flagged: z.boolean(), categories: z.record(z.string(), z.unknown()).nullish() })).min(1),
});

const CATEGORY = /^[\w/ .-]{1,64}$/;
const MAX_CATEGORIES = 8;

/** @param texts their number. A hook may answer for each, or once for all of them. */
export function readVerdict(body: Buffer, texts: number): Verdict {
  const answer = answerSchema.safeParse(parse(body));
  if (!answer.success) return { kind: "unreadable" };
  const { results } = answer.data;
  const at = results.findIndex(({ flagged }) => flagged);
  const found = results[at];
  if (found !== undefined) return { kind: "refused", text: results.length === texts ? at : null, categories: named(found) };
  return results.length === texts || results.length === 1 ? { kind: "allowed" } : { kind: "unreadable" };
}

/** The client reads these names. */
function named({ categories }: { categories?: Readonly<Record<string, unknown>> | null | undefined }): string[] {
  return Object.entries(categories ?? {})
    .flatMap(([name, isFlagged]) => (isFlagged === true && CATEGORY.test(name) ? [name] : []))
    .slice(0, MAX_CATEGORIES);
}

function parse(body: Buffer): unknown {
  try {
    return parseWithin(body, ANSWER_BOUNDS);
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof ExcessiveStructure) return undefined;
    throw error;
  }
}
