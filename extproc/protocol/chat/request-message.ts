import * as z from "zod";
import { contentSchema, marks } from "./request-content.ts";

const text = z.string({ error: "a string" });
const name = z.string({ error: "the function's name, a string" }).min(1, { error: "the function's name" });

/** Some clients send arguments as an object instead of its JSON text. */
const callArguments = z
  .union([z.string(), z.custom<object>(isObjectValue)], { error: "a string that holds a JSON object" })
  .nullish();

const functionCall = z.object({ name, arguments: callArguments }, { error: "an object with a name and arguments" });

const toolCall = z
  .object(
    {
      id: text.nullish(),
      type: z.enum(["function", "custom"], { error: "function or custom" }).nullish(),
      function: functionCall.nullish(),
      custom: z.object({ name, input: text.nullish() }, { error: "an object with a name and an input" }).nullish(),
    },
    { error: "an object with an id and a function" },
  )
  .transform((call, context) => {
    if (call.custom)
      return { kind: "custom" as const, id: call.id ?? "", name: call.custom.name, input: call.custom.input ?? "" };
    if (call.function)
      return { kind: "function" as const, id: call.id ?? "", name: call.function.name, arguments: call.function.arguments };
    context.addIssue({
      code: "custom",
      path: ["function"],
      message: "an object with a name and arguments",
      input: call.function,
    });
    return z.NEVER;
  });

/** Members of messages with several roles. */
const common = { content: contentSchema, name: z.unknown().optional(), ...marks };

const systemMessage = z.object({ role: z.literal(["system", "developer"]), ...common });
const userMessage = z.object({ role: z.literal("user"), ...common });
const toolMessage = z.object({ role: z.literal("tool"), tool_call_id: text, ...common });
/** The form from before tools: the name replaces the id. */
const functionMessage = z.object({ role: z.literal("function"), ...common, name });
const assistantMessage = z.object({
  role: z.literal("assistant"),
  ...common,
  refusal: text.nullish(),
  tool_calls: z.array(toolCall, { error: "an array of tool calls" }).nullish(),
  function_call: functionCall.nullish(),
  reasoning_content: z.unknown().optional(),
  reasoning: z.unknown().optional(),
  reasoning_details: z.unknown().optional(),
  annotations: z.unknown().optional(),
  audio: z.unknown().optional(),
});

export const messagesSchema = z
  .array(
    z.discriminatedUnion("role", [systemMessage, userMessage, assistantMessage, toolMessage, functionMessage], {
      error: "a message with the role system, developer, user, assistant or tool",
    }),
    { error: "an array with at least one message" },
  )
  .min(1, { error: "an array with at least one message" });

export type Message = z.infer<typeof messagesSchema>[number];
export type MessageOf<Role extends Message["role"]> = Extract<Message, { role: Role }>;
export type ToolCall = z.infer<typeof toolCall>;

function isObjectValue(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
