import * as z from "zod";
import { allowedTools, PromptError, type Prompt, type ToolChoice } from "../prompt.ts";
import { unsealReasoning } from "./sealed.ts";

const part = z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() });
const content = z.union([z.string(), z.array(part)]);

const item = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("message"), role: z.enum(["user", "assistant", "system", "developer"]), content }),
  z.looseObject({ type: z.literal("function_call"), call_id: z.string().min(1), name: z.string(), arguments: z.string() }),
  z.looseObject({ type: z.literal("function_call_output"), call_id: z.string().min(1), output: content }),
  z.looseObject({
    type: z.literal("reasoning"),
    id: z.string().startsWith("rs_"),
    summary: z.array(z.looseObject({ type: z.literal("summary_text"), text: z.string() })),
    encrypted_content: z.string().nullish(),
  }),
]);
const anyItem = z.preprocess(
  (value) => (typeof value === "object" && value !== null && !("type" in value) ? { type: "message", ...value } : value),
  item,
);

const named = z.looseObject({ type: z.literal("function"), name: z.string() });
const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  named,
  z.looseObject({ type: z.literal("allowed_tools"), mode: z.enum(["auto", "required"]), tools: z.array(named).min(1) }),
]);

const responsesRequest = z.looseObject({
  model: z.string().min(1),
  input: z.union([z.string(), z.array(anyItem).min(1)]),
  instructions: z.string().nullish(),
  store: z.literal(false, { error: "this server stores nothing" }),
  previous_response_id: z.null().optional(),
  stream: z.boolean().nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.literal("function"),
        name: z.string(),
        parameters: z.unknown().optional(),
        strict: z.boolean().nullish(),
      }),
    )
    .nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning: z.looseObject({ effort: z.string().nullish(), summary: z.string().nullish() }).nullish(),
  include: z.array(z.string()).nullish(),
  max_output_tokens: z.int().positive().nullish(),
  text: z.looseObject({ format: z.looseObject({ type: z.string(), schema: z.unknown().optional() }).nullish() }).nullish(),
});

type ResponsesRequest = z.infer<typeof responsesRequest>;
type Item = z.infer<typeof item>;

/** A count stores nothing, and does not say so. */
export function parseResponsesCount(body: unknown): Prompt {
  return parseResponsesRequest(typeof body === "object" ? { ...body, store: false } : body);
}

/** @throws PromptError if the real servers answer 400. */
export function parseResponsesRequest(body: unknown): Prompt {
  const result = responsesRequest.safeParse(body);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a Responses request");
  }
  const request = result.data;
  const items = itemsOf(request.input);
  refuseUnknownCalls(items);
  refuseForeignReasoning(items, request.model);
  const lastUserIndex = items.findLastIndex((each) => each.type === "message" && each.role === "user" && itemText(each) !== "");
  const lastUser = items[lastUserIndex];
  return {
    model: request.model,
    texts: [...(request.instructions ? [request.instructions] : []), ...items.map(itemText)],
    lastUserText: lastUser === undefined ? "" : itemText(lastUser),
    toolResults: trailingResults(items),
    toolRounds: countRounds(items.slice(lastUserIndex + 1)),
    tools: allowedTools(
      (request.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.parameters })),
      allowedNames(request.tool_choice),
    ),
    toolChoice: mapToolChoice(request.tool_choice),
    allowsParallelTools: request.parallel_tool_calls ?? true,
    wantsReasoning: wantsReasoning(request),
    wantsStream: request.stream ?? false,
    maxOutputTokens: request.max_output_tokens ?? undefined,
    responseSchema: request.text?.format?.schema,
    wantsJson: request.text?.format?.type === "json_object",
    stopSequences: [],
  };
}

function itemsOf(input: ResponsesRequest["input"]): Item[] {
  if (typeof input === "string") return [{ type: "message", role: "user", content: input }];
  return input.map((each) => item.parse(each));
}

/** Every output answers a call before it, and every call is answered. */
function refuseUnknownCalls(items: readonly Item[]): void {
  const open = new Set<string>();
  for (const [index, each] of items.entries()) {
    if (each.type === "function_call") open.add(each.call_id);
    if (each.type === "function_call_output" && !open.delete(each.call_id))
      throw new PromptError(`input.${index}`, `no function call with call_id ${each.call_id} comes before its output`);
  }
  if (open.size > 0) throw new PromptError("input", `no tool output found for function call ${[...open].join(", ")}`);
}

/** Like the real one, it accepts only reasoning that it sealed for this model, and that something follows. */
function refuseForeignReasoning(items: readonly Item[], model: string): void {
  for (const [index, each] of items.entries()) {
    if (each.type !== "reasoning") continue;
    if (unsealReasoning(each.encrypted_content ?? "", model) === null)
      throw new PromptError(`input.${index}.encrypted_content`, "the encrypted content could not be verified");
    const next = items[index + 1];
    if (next === undefined || next.type === "function_call_output" || (next.type === "message" && next.role !== "assistant"))
      throw new PromptError(`input.${index}`, "an item of type reasoning was provided without its required following item");
  }
}

function wantsReasoning({ reasoning, model }: ResponsesRequest): boolean {
  return reasoning?.effort == null ? reasoning?.summary != null || model.includes("reasoner") : reasoning.effort !== "none";
}

function mapToolChoice(choice: ResponsesRequest["tool_choice"]): ToolChoice {
  if (choice == null || choice === "auto") return { kind: "auto" };
  if (choice === "none") return { kind: "none" };
  if (choice === "required") return { kind: "any" };
  if (choice.type === "allowed_tools") return { kind: choice.mode === "required" ? "any" : "auto" };
  return { kind: "named", name: choice.name };
}

function allowedNames(choice: ResponsesRequest["tool_choice"]): string[] | undefined {
  if (choice == null || typeof choice === "string" || choice.type === "function") return undefined;
  return choice.tools.map(({ name }) => name);
}

function trailingResults(items: readonly Item[]): string[] {
  const lastOther = items.findLastIndex(({ type }) => type !== "function_call_output");
  return items.slice(lastOther + 1).map(itemText);
}

/** Runs of calls: those of one answer are adjacent. */
function countRounds(items: readonly Item[]): number {
  return items.filter((each, index) => each.type === "function_call" && items[index - 1]?.type !== "function_call").length;
}

function itemText(each: Item): string {
  switch (each.type) {
    case "message":
      return contentText(each.content);
    case "function_call":
      return each.arguments;
    case "function_call_output":
      return contentText(each.output);
    case "reasoning":
      return "";
  }
}

function contentText(value: z.infer<typeof content>): string {
  return typeof value === "string" ? value : value.map((each) => each.text ?? each.refusal ?? "").join("");
}
