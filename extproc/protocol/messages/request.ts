import * as z from "zod";
import { isGiven, isObject } from "../json/object.ts";
import { requestError } from "../request-error.ts";
import { anyObject, contentSchema, systemSchema } from "./request-block.ts";
import { toolChoiceSchema, toolsSchema } from "./request-tool.ts";

const positive = z.int({ error: "a positive integer" }).positive({ error: "a positive integer" });
const number = z.number({ error: "a number" });
const string = z.string({ error: "a string" });

/** "ctx" and "msg" are names that some agents use for turns that the user did not type. */
const message = z.preprocess(
  withContent,
  z.object(
    {
      role: z.enum(["user", "assistant", "system", "ctx", "msg"], { error: "user, assistant or system" }),
      content: contentSchema,
      /** Of a system message: from the next user message on, the model does not see it. */
      clear_at: z.enum(["never", "next_user_message"], { error: "never or next_user_message" }).nullish(),
      output_config: z.unknown().optional(),
    },
    { error: "an object with role and content" },
  ),
);

/** A system message may have settings alone. */
function withContent(turn: unknown): unknown {
  const isSetting = isObject(turn) && turn["role"] === "system" && isGiven(turn["output_config"]) && !isGiven(turn["content"]);
  return isSetting ? { ...turn, content: [] } : turn;
}

const thinking = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("enabled"), budget_tokens: positive, display: z.unknown().optional() }),
    z.object({ type: z.literal("disabled") }),
    z.object({ type: z.literal(["adaptive", "between_tools"]), display: z.unknown().optional() }),
  ],
  { error: "an object whose type is enabled, disabled or adaptive" },
);

const outputFormat = z.object(
  { type: z.literal("json_schema", { error: "json_schema" }), schema: anyObject },
  { error: "an object with type json_schema and a schema" },
);

const requestSchema = z.object({
  model: z.string({ error: "the name of a model" }).min(1, { error: "the name of a model" }),
  max_tokens: positive,
  messages: z
    .array(message, { error: "an array with at least one message" })
    .min(1, { error: "an array with at least one message" }),
  system: systemSchema,
  stream: z.boolean({ error: "true or false" }).nullish(),
  stop_sequences: z.array(string, { error: "an array of strings" }).nullish(),
  temperature: number.nullish(),
  top_p: number.nullish(),
  top_k: z.int({ error: "an integer" }).nullish(),
  tools: toolsSchema.nullish(),
  tool_choice: toolChoiceSchema.nullish(),
  thinking: thinking.nullish(),
  output_config: z
    .object(
      {
        effort: z.enum(["low", "medium", "high", "xhigh", "max"], { error: "low, medium, high, xhigh or max" }).nullish(),
        format: outputFormat.nullish(),
        task_budget: z.unknown().optional(),
      },
      { error: "an object" },
    )
    .nullish(),
  output_format: outputFormat.nullish(),
  metadata: z.object({ user_id: string.nullish() }, { error: "an object" }).nullish(),
  service_tier: z.enum(["auto", "standard_only"], { error: "auto or standard_only" }).nullish(),
});

/** A messages request, checked: member names and shapes are the protocol's own, string contents are one text block. */
export type MessagesRequest = z.infer<typeof requestSchema>;
export type Turn = MessagesRequest["messages"][number];

/** @throws GatewayError `invalid_request` that names the first invalid field, what it holds and what to send (S21). */
export function parseMessagesRequest(parsed: unknown): MessagesRequest {
  const result = requestSchema.safeParse(parsed, { error: nounFor });
  if (!result.success) throw requestError(result.error.issues, parsed);
  return result.data;
}

function nounFor(issue: z.core.$ZodRawIssue): string {
  return issue.code === "invalid_type" ? `a value of type ${issue.expected}` : "a value that the messages protocol allows";
}
