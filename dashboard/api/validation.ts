import type { FastifySchemaCompiler } from "fastify";
import type * as z from "zod";

/** Checks a part of a request. Its error is zod's own (failure.ts). */
export const validatorCompiler: FastifySchemaCompiler<z.ZodType> =
  ({ schema }) =>
  (value: unknown) => {
    const { data, error } = schema.safeParse(value, { error: describe });
    return error === undefined ? { value: data } : { error };
  };

const EXPECTED: Readonly<Record<string, string>> = {
  array: "Must be a list.",
  object: "Must be an object.",
  record: "Must be an object.",
  string: "Must be a string.",
  boolean: "Must be true or false.",
  number: "Must be a number.",
  int: "Must be a whole number.",
};

/** For schemas without a message of their own, where zod's would be a programmer's. */
function describe(issue: z.core.$ZodRawIssue): string | undefined {
  if (issue.code === "invalid_type") return EXPECTED[issue.expected];
  if (issue.code === "invalid_value") return `Must be one of ${issue.values.join(", ")}.`;
  return issue.code === "unrecognized_keys" ? "This field is unknown. Check its spelling, or leave it out." : undefined;
}

/** @returns the path of what is wrong: of an unknown field, its name. */
export function fieldOf(issue: z.core.$ZodIssue): string {
  const [unknown] = issue.code === "unrecognized_keys" ? issue.keys : [];
  return [...issue.path, ...(unknown === undefined ? [] : [unknown])].join(".").slice(0, MAX_FIELD_CHARACTERS);
}

/** Names may be the client's own, of any length. */
const MAX_FIELD_CHARACTERS = 200;
