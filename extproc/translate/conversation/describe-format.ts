import type { Encodable } from "../../protocol/json/raw.ts";
import { strictSchema } from "./strict-schema.ts";
import type { FormatWish } from "./wish.ts";

const LEGAL_NAME = /^[\w-]{1,64}$/;
const DEFAULT_NAME = "response";

/**
 * A schema as chat and Responses describe it. Both require a name. Neither accepts `strict` for every schema, for
 * example with optional properties; such a schema is followed anyway.
 */
export function describeFormat({ name, description, strict, parsed, schema }: Extract<FormatWish, { type: "json_schema" }>): {
  readonly [name: string]: Encodable;
} {
  const strictForm = strict === false ? null : strictSchema(schema, parsed);
  return {
    name: name !== null && LEGAL_NAME.test(name) ? name : DEFAULT_NAME,
    description: description ?? undefined,
    strict: strictForm !== null,
    schema: strictForm ?? schema,
  };
}
