import type { ErrorDetails } from "./upstream-error-details.ts";

const CODES = ["context_length_exceeded", "exceed_context_size_error", "model_context_window_exceeded"];
const TEXTS =
  /prompt is too long|input is too long for requested model|(?:maximum|model'?s) context (?:length|window|size)|context (?:length|window|size|limit) (?:is |was )?exceeded|exceeds? (?:the )?(?:available |maximum |model'?s )*context|longer than the (?:model'?s )?(?:maximum )?context|exceed context limit|input token count .{0,40}exceeds the maximum/i;

/** The group that holds the limit in the wordings above, first match first. */
const LIMITS = [
  /> ?(\d+) ?(?:maximum)?/,
  /maximum context (?:length|window|size)(?: is| of)? \(?(\d+)/i,
  /context (?:length|window|size|limit)(?: is| of)? \(?(\d+)/i,
  /maximum number of tokens allowed \(?(\d+)/i,
];

/**
 * The sentence for a prompt that exceeds the model's context, or null for any other error. Coding agents compact the conversation
 * when they read "prompt is too long: N tokens > M maximum"; chat clients look for "maximum context length": the sentence
 * contains both.
 */
export function contextLengthMessage(details: ErrorDetails): string | null {
  const { message, code, type } = details;
  if (!CODES.includes(code) && !CODES.includes(type) && !TEXTS.test(message.slice(0, 2_000))) return null;
  const text = message.slice(0, 2_000).replaceAll(/(?<=\d)[,_](?=\d{3})/g, "");
  const limit = details.contextTokens ?? limitIn(text);
  const requested = details.promptTokens ?? largestNumber(text);
  if (limit === null) return "prompt is too long: it is over this model's maximum context length.";
  const size =
    requested !== null && requested > limit
      ? `prompt is too long: ${requested} tokens > ${limit} maximum.`
      : "prompt is too long.";
  return `${size} This model's maximum context length is ${limit} tokens.`;
}

function limitIn(text: string): number | null {
  for (const pattern of LIMITS) {
    const found = pattern.exec(text)?.[1];
    if (found !== undefined) return Number(found);
  }
  return null;
}

function largestNumber(text: string): number | null {
  const numbers = [...text.matchAll(/\d{1,15}/g)].map(([digits]) => Number(digits));
  return numbers.length === 0 ? null : Math.max(...numbers);
}
