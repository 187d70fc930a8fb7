import type * as z from "zod";
import { GatewayError } from "../../contract/errors.ts";

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
