import * as z from "zod";
import { nonEmpty } from "../json/non-empty.ts";
import { hostedItemSchema } from "./hosted-item.ts";

/** Items of a Responses request's `input`: checked where the gateway reads them, unknown members left out. */

const text = z.string({ error: "a string" });

const textPart = z.object({ type: z.literal(["input_text", "output_text", "text"]), text });
const refusalPart = z.object({ type: z.literal("refusal"), refusal: text });
const imagePart = z.object({
  type: z.literal("input_image"),
  image_url: text.nullish(),
  file_id: text.nullish(),
  detail: text.nullish(),
});
const filePart = z.object({
  type: z.literal("input_file"),
  filename: text.nullish(),
  file_data: text.nullish(),
  file_id: text.nullish(),
  file_url: text.nullish(),
});

const part = z.discriminatedUnion("type", [textPart, refusalPart, imagePart, filePart], {
  error: "a content part of type input_text, input_image, input_file, output_text or refusal",
});

/** Content: a string counts as one text part, null as none. */
const content = z.preprocess(
  (value) => (typeof value === "string" ? [{ type: "input_text", text: value }] : (value ?? [])),
  z.array(part, { error: "a string or an array of content parts" }),
);

const message = z.object({
  type: z.literal("message"),
  role: z.enum(["user", "assistant", "system", "developer"], { error: "user, assistant, system or developer" }),
  content,
});
const functionCall = z.object({
  type: z.literal("function_call"),
  call_id: nonEmpty,
  name: nonEmpty,
  namespace: text.nullish(),
  arguments: z.string({ error: "a string that holds a JSON object" }),
});
const customToolCall = z.object({
  type: z.literal("custom_tool_call"),
  call_id: nonEmpty,
  name: nonEmpty,
  namespace: text.nullish(),
  input: text,
});
const toolOutput = z.object({
  type: z.literal(["function_call_output", "custom_tool_call_output"]),
  call_id: nonEmpty,
  output: content,
});
const thought = z.array(z.object({ text }, { error: "an object with a text" }), { error: "an array of objects with a text" });
const reasoning = z.object({
  type: z.literal("reasoning"),
  summary: thought.nullish(),
  content: thought.nullish(),
  encrypted_content: text.nullish(),
});

/** Of reasoning: others are refused before (translate/responses/stored.ts). */
const reference = z.object({ type: z.literal("item_reference"), id: text });

const items = [message, functionCall, customToolCall, toolOutput, reasoning, reference, hostedItemSchema] as const;
const item = z.discriminatedUnion("type", items, {
  error: "an item of type message, function_call, function_call_output, custom_tool_call, custom_tool_call_output or reasoning",
});

/** The type of a message is optional, as in the SDKs' short form. */
const typedItem = z.preprocess(
  (value) =>
    typeof value === "object" && value !== null && !Array.isArray(value) && !Object.hasOwn(value, "type")
      ? { type: "message", ...value }
      : value,
  item,
);

const SOME_INPUT = "a string, or an array with at least one item";

/** `input`: a string counts as one user message. */
export const inputSchema = z.preprocess(
  (value) => (typeof value === "string" && value !== "" ? [{ role: "user", content: value }] : value),
  z.array(typedItem, { error: SOME_INPUT }).min(1, { error: SOME_INPUT }),
);

export type InputItem = z.infer<typeof item>;
export type InputItemOf<Type extends InputItem["type"]> = Extract<InputItem, { type: Type }>;
export type InputPart = z.infer<typeof part>;
