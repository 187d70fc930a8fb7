import * as z from "zod";
import { must } from "./field-message.ts";

/** Postgres keeps every character but this one, and would refuse the whole catalogue because of it. */
const STORABLE = /^[^\0]*$/;
const NOT_STORABLE = "must not contain the character U+0000";

/** Text of which nothing is expected. An emoji is one character, as it is for the API server, and not the two of JavaScript. */
export function plainText(limit: number, claim = "be a string") {
  return z
    .string(must(claim))
    .refine((text) => Array.from(text).length <= limit, `must be at most ${limit} characters`)
    .regex(STORABLE, NOT_STORABLE)
    .meta({ maxLength: limit });
}

/** The same, of one character at least. */
export function someText(limit: number, claim?: string) {
  return plainText(limit, claim).min(1, "must not be empty");
}
