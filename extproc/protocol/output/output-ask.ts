import * as z from "zod";
import type { Protocol } from "../../../contract/protocol.ts";
import { isObject, textOf } from "../json/object.ts";
import type { RequestBody } from "../json/request-body.ts";
import { requestError } from "../request-error.ts";
import { checkGuardedNames, LIMIT_NAMES } from "./guarded-names.ts";

/** How much output a client requests, which bounds the request's cost, read before any translation. */
export interface OutputAsk {
  /** Tokens for each answer, the lowest of the limits that it sent; null if it sent none. */
  limit: number | null;
  /** Answers that are generated for one prompt. */
  answers: number;
  /** The server may write a summary of the conversation before it answers. */
  isCompacting: boolean;
  wantsStream: boolean;
}

const MAX_ANSWERS = 128;
const limit = z.int({ error: "a positive integer" }).positive({ error: "a positive integer" }).nullish();
const answers = z
  .int({ error: `a whole number from 1 to ${MAX_ANSWERS}` })
  .min(1, { error: `a whole number from 1 to ${MAX_ANSWERS}` })
  .max(MAX_ANSWERS, { error: `a whole number from 1 to ${MAX_ANSWERS}` })
  .nullish();
const stream = z.boolean({ error: "true or false" }).nullish();

const limits = z.object({
  max_tokens: limit,
  max_completion_tokens: limit,
  max_output_tokens: limit,
  max_new_tokens: limit,
  max_tokens_to_sample: limit,
  max_gen_len: limit,
  max_length: limit,
  n_predict: limit,
  num_predict: limit,
} satisfies Record<(typeof LIMIT_NAMES)[number], typeof limit>);

const chatSchema = limits.extend({ stream, n: answers, best_of: answers });
const messagesSchema = limits.extend({
  // 0 fills the upstream's prompt cache and generates nothing.
  max_tokens: z.int({ error: "a positive integer" }).nonnegative({ error: "a positive integer" }),
  stream,
});
const responsesSchema = limits.extend({ stream });

/**
 * @throws GatewayError `invalid_request` for a limit, a count or a flag that is invalid, or under a name that is not its own
 * (S21, S30).
 */
export function readOutputAsk(body: RequestBody, client: Protocol): OutputAsk {
  checkGuardedNames(body, client);
  switch (client) {
    case "chat": {
      const ask = parseAs(chatSchema, body);
      return { ...outputOf(ask), answers: Math.max(ask.n ?? 1, ask.best_of ?? 1), isCompacting: false };
    }
    case "messages":
      return { ...outputOf(parseAs(messagesSchema, body)), answers: 1, isCompacting: isCompacting(body) };
    case "responses":
      return { ...outputOf(parseAs(responsesSchema, body)), answers: 1, isCompacting: false };
  }
}

function isCompacting({ outline }: RequestBody): boolean {
  const management = outline["context_management"];
  const edits = isObject(management) ? management["edits"] : undefined;
  return Array.isArray(edits) && edits.some((edit) => isObject(edit) && textOf(edit["type"]).startsWith("compact"));
}

function outputOf(ask: z.infer<typeof responsesSchema>): Pick<OutputAsk, "limit" | "wantsStream"> {
  const sent = LIMIT_NAMES.map((name) => ask[name]).filter((each) => each !== null && each !== undefined);
  return { limit: sent.length === 0 ? null : Math.min(...sent), wantsStream: ask.stream === true };
}

function parseAs<Schema extends z.ZodType>(schema: Schema, body: RequestBody): z.infer<Schema> {
  const result = schema.safeParse(body.outline);
  if (result.success) return result.data;
  // An error says what was found, and a long string is not in the outline.
  throw requestError(result.error.issues, body.whole());
}
