import { GatewayError } from "../../contract/errors.ts";
import type { Refused } from "./guardrails.ts";
import type { CheckedPart } from "./outcome.ts";

/** @param fields the place of each text in the request. */
export function requestRefused({ text, categories }: Refused, fields: readonly string[]): GatewayError {
  const field = text === null ? undefined : fields[text];
  const where = field === undefined ? "The request" : `\`${field}\``;
  return contentRefused(`${where} was refused by ${CHECK}${reasonOf(categories)}. Nothing was charged.`, field);
}

/** @param costUsd what the request costs. */
export function answerRefused(refused: Refused, costUsd: string): GatewayError {
  return contentRefused(`${explainRefusal(refused)} The model server has answered the request, which costs ${costUsd} USD.`);
}

/** In one sentence. */
export function explainRefusal({ categories }: Refused): string {
  return `The model's answer was refused by ${CHECK}${reasonOf(categories)}.`;
}

export function guardrailUnavailable(part: CheckedPart): GatewayError {
  const charged = part === "request" ? "Nothing was charged." : "Nothing is charged for an answer that has not started.";
  return new GatewayError(
    "guardrail_unavailable",
    `${UNAVAILABLE[part]} is not available right now. ${charged} Try again in a moment.`,
    {
      headers: { "retry-after": "2" },
    },
  );
}

const CHECK = "this model's content check";
const UNAVAILABLE = {
  request: "The content check for this model's requests",
  answer: "The content check for this model's answers",
} as const satisfies Record<CheckedPart, string>;

function contentRefused(facts: string, field?: string): GatewayError {
  return new GatewayError("content_refused", `${facts} Change the text and send the request again.`, {
    details: { code: "content_policy_violation" },
    ...(field === undefined ? {} : { field }),
  });
}

function reasonOf(categories: readonly string[]): string {
  return categories.length === 0 ? "" : ` (${categories.join(", ")})`;
}
