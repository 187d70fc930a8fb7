import * as z from "zod";
import { EFFORTS, VERBOSITIES } from "../../../contract/profile.ts";
import type { RequestBody } from "../json/request-body.ts";
import { requestError } from "../request-error.ts";
import { messagesSchema } from "./request-message.ts";
import { functionCallChoiceSchema, functionsSchema, toolChoiceSchema, toolsSchema } from "./request-tool.ts";

const positive = z.int({ error: "a positive integer" }).positive({ error: "a positive integer" });
const flag = z.boolean({ error: "true or false" });
const number = z.number({ error: "a number" });
const text = z.string({ error: "a string" });

const effort = z.enum(EFFORTS, { error: `one of ${EFFORTS.join(", ")}` });

const responseFormat = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("text") }),
    z.object({ type: z.literal("json_object") }),
    z.object({
      type: z.literal("json_schema"),
      json_schema: z.object(
        {
          name: text.nullish(),
          description: text.nullish(),
          strict: flag.nullish(),
          schema: z.looseObject({}, { error: "a JSON schema, an object" }),
        },
        { error: "an object with a name and a schema" },
      ),
    }),
  ],
  { error: "an object whose type is text, json_object or json_schema" },
);

/** Requirements of every chat request, whatever its destination. */
const envelope = {
  model: z.string({ error: "the name of a model" }).min(1, { error: "the name of a model" }),
  stream: flag.nullish(),
  stream_options: z.object({ include_usage: flag.nullish() }, { error: "an object" }).nullish(),
  max_tokens: positive.nullish(),
  max_completion_tokens: positive.nullish(),
  n: positive.nullish(),
};

/** For a chat upstream: it reads the rest itself, in formats that this gateway need not know. */
const envelopeSchema = z.object({
  ...envelope,
  messages: z
    .array(z.object({ role: text }, { error: "a message, an object with a role" }), {
      error: "an array with at least one message",
    })
    .min(1, { error: "an array with at least one message" }),
});

const requestSchema = z.object({
  ...envelope,
  messages: messagesSchema,
  temperature: number.min(0, { error: "a number from 0 to 2" }).max(2, { error: "a number from 0 to 2" }).nullish(),
  top_p: number.min(0, { error: "a number from 0 to 1" }).max(1, { error: "a number from 0 to 1" }).nullish(),
  top_k: z.int({ error: "an integer" }).nullish(),
  stop: z.preprocess(
    (value) => (typeof value === "string" ? [value] : value),
    z.array(text, { error: "a string or an array of strings" }).nullish(),
  ),
  logprobs: flag.nullish(),
  top_logprobs: z.int({ error: "an integer" }).nullish(),
  modalities: z.array(text, { error: "an array of strings" }).nullish(),
  tools: toolsSchema.nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  parallel_tool_calls: flag.nullish(),
  functions: functionsSchema.nullish(),
  function_call: functionCallChoiceSchema.nullish(),
  response_format: responseFormat.nullish(),
  reasoning_effort: effort.nullish(),
  reasoning: z
    .object(
      { effort: effort.nullish(), max_tokens: positive.nullish(), exclude: flag.nullish(), enabled: flag.nullish() },
      { error: "an object" },
    )
    .nullish(),
  thinking: z
    .object(
      {
        type: z.enum(["enabled", "disabled", "adaptive", "auto"], { error: "enabled, disabled or adaptive" }),
        budget_tokens: positive.nullish(),
      },
      { error: "an object whose type is enabled, disabled or adaptive" },
    )
    .nullish(),
  chat_template_kwargs: z.object({ enable_thinking: flag.nullish(), thinking: flag.nullish() }, { error: "an object" }).nullish(),
  user: text.nullish(),
  safety_identifier: text.nullish(),
  service_tier: text.nullish(),
  verbosity: z.enum(VERBOSITIES, { error: `one of ${VERBOSITIES.join(", ")}` }).nullish(),
  prompt_cache_key: text.nullish(),
  prompt_cache_retention: text.nullish(),
});

export type ChatEnvelope = z.infer<typeof envelopeSchema>;
/** A validated chat request: string contents are one text part, tools are in one format. */
export type ChatRequest = z.infer<typeof requestSchema>;

/** @throws GatewayError `invalid_request` that names the first wrong field, its content and what to send (S21). */
export function parseChatRequest(parsed: unknown): ChatRequest {
  return parseAs(requestSchema, parsed);
}

/** The fields that the gateway itself reads of a request for a chat upstream. @throws GatewayError `invalid_request` (S21). */
export function parseChatEnvelope(body: RequestBody): ChatEnvelope {
  const result = envelopeSchema.safeParse(body.outline);
  // An error describes what it found, and a long name is not in the outline.
  return result.success ? result.data : parseAs(envelopeSchema, body.whole());
}

function parseAs<Schema extends z.ZodType>(schema: Schema, parsed: unknown): z.infer<Schema> {
  const result = schema.safeParse(parsed, { error: nounFor });
  if (!result.success) throw requestError(result.error.issues, parsed);
  return result.data;
}

function nounFor(issue: z.core.$ZodRawIssue): string {
  return issue.code === "invalid_type" ? `a value of type ${issue.expected}` : "a value that the chat protocol allows";
}
