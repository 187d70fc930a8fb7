import * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";

/** How many elements a page of a list has, at most. */
export function pageSize({ max, standard }: { max: number; standard: number }) {
  const claim = `must be a whole number from 1 to ${max}`;
  return z.coerce.number(claim).int(claim).min(1, claim).max(max, claim).default(standard);
}

/** A parameter that is a text. Sent twice, it is a list. */
export const oneText = z.string("must be sent only once").optional();

/** @throws GatewayError `invalid_request` that names the first wrong parameter. */
export function readQuery<Value>(query: unknown, schema: z.ZodType<Value>): Value {
  return readFields(query, schema, "The query");
}

/** @throws GatewayError `invalid_request` that names the first wrong field. */
export function readJson<Value>(body: unknown, schema: z.ZodType<Value>): Value {
  return readFields(body, schema, "The body");
}

function readFields<Value>(sent: unknown, schema: z.ZodType<Value>, whole: string): Value {
  const read = schema.safeParse(sent);
  if (read.success) return read.data;
  const [issue] = read.error.issues;
  const field = issue?.path.map(String).join(".") ?? "";
  const claim = issue?.message.startsWith("must ") === true ? issue.message : "is missing or has an invalid value";
  throw new GatewayError("invalid_request", `${field === "" ? whole : `\`${field}\``} ${claim}.`, field === "" ? {} : { field });
}
