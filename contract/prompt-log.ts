import * as z from "zod";

/** For how many days the prompts and answers of a key's requests are kept (docs/prompt-log.md). */
export const PROMPT_LOG_DAYS = { min: 1, max: 30, usual: 7 } as const;

const MEBIBYTE = 1024 * 1024;

/** Bytes of one record; a longer text is cut at its end. Answers are larger: each word of a stream is an event. */
export const PROMPT_LOG_BYTES = { request: MEBIBYTE, answer: 4 * MEBIBYTE } as const;

/**
 * MiB of records that all accounts together keep in Postgres: extproc's and the dashboard's variable of one meaning. 0 turns the
 * prompt log off for every key.
 */
export const PROMPT_LOG_VARIABLES = {
  MAX_PROMPT_LOG_MIB: z.coerce.number().int().min(0).max(16_777_216).default(10_240),
};
