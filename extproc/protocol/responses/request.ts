import * as z from "zod";
import { EFFORTS, VERBOSITIES } from "../../../contract/profile.ts";
import { requestError } from "../request-error.ts";
import { inputSchema } from "./request-item.ts";
import { toolChoiceSchema, toolsSchema } from "./request-tool.ts";

const positive = z.int({ error: "a positive integer" }).positive({ error: "a positive integer" });
const flag = z.boolean({ error: "true or false" });
const number = z.number({ error: "a number" });
const text = z.string({ error: "a string" });

const format = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      name: text.nullish(),
      description: text.nullish(),
      strict: flag.nullish(),
      schema: z.custom<Readonly<Record<string, unknown>>>(isObject, { error: "a JSON schema, an object" }),
    }),
  ],
  { error: "an object whose type is text, json_object or json_schema" },
);

const requestSchema = z.object({
  model: z.string({ error: "the name of a model" }).min(1, { error: "the name of a model" }),
  input: inputSchema,
  instructions: text.nullish(),
  stream: flag.nullish(),
  max_output_tokens: positive.nullish(),
  temperature: number.min(0, { error: "a number from 0 to 2" }).max(2, { error: "a number from 0 to 2" }).nullish(),
  top_p: number.min(0, { error: "a number from 0 to 1" }).max(1, { error: "a number from 0 to 1" }).nullish(),
  tools: toolsSchema.nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: flag.nullish(),
  reasoning: z
    .object(
      { effort: z.enum(EFFORTS, { error: `one of ${EFFORTS.join(", ")}` }).nullish(), summary: z.unknown().optional() },
      { error: "an object" },
    )
    .nullish(),
  text: z
    .object(
      { format: format.nullish(), verbosity: z.enum(VERBOSITIES, { error: `one of ${VERBOSITIES.join(", ")}` }).nullish() },
      { error: "an object" },
    )
    .nullish(),
  include: z.array(text, { error: "an array of strings" }).nullish(),
  metadata: z.custom<object>(isObject, { error: "an object" }).nullish(),
  user: text.nullish(),
  safety_identifier: text.nullish(),
  service_tier: text.nullish(),
  prompt_cache_key: text.nullish(),
  prompt_cache_retention: text.nullish(),
});

/** A Responses request, checked: `input` is a list of items, and content is a list of parts. */
export type ResponsesRequest = z.infer<typeof requestSchema>;

/** @throws GatewayError `invalid_request` that names the first invalid field, what it holds and what to send (S21). */
export function parseResponsesRequest(parsed: unknown): ResponsesRequest {
  const result = requestSchema.safeParse(parsed, { error: nounFor });
  if (!result.success) throw requestError(result.error.issues, parsed);
  return result.data;
}

function nounFor(issue: z.core.$ZodRawIssue): string {
  return issue.code === "invalid_type" ? `a value of type ${issue.expected}` : "a value that the Responses protocol allows";
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
