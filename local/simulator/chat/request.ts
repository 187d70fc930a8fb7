import * as z from "zod";
import { allowedTools, PromptError, type Prompt, type ToolChoice } from "../prompt.ts";

const part = z.looseObject({ type: z.string(), text: z.string().nullish(), refusal: z.string().nullish() });
const content = z.union([z.string(), z.array(part)]).nullish();

const message = z.looseObject({
  role: z.enum(["system", "developer", "user", "assistant", "tool"]),
  content,
  tool_calls: z
    .array(z.looseObject({ id: z.string(), function: z.looseObject({ name: z.string(), arguments: z.string() }) }))
    .nullish(),
  tool_call_id: z.string().nullish(),
});

const named = z.looseObject({ type: z.literal("function"), function: z.looseObject({ name: z.string() }) });
const toolChoice = z.union([
  z.enum(["auto", "none", "required"]),
  named,
  z.looseObject({
    type: z.literal("allowed_tools"),
    allowed_tools: z.looseObject({ mode: z.enum(["auto", "required"]), tools: z.array(named).min(1) }),
  }),
]);

const chatRequest = z.looseObject({
  model: z.string().min(1),
  messages: z.array(message).min(1),
  stream: z.boolean().nullish(),
  tools: z
    .array(
      z.looseObject({
        type: z.literal("function"),
        function: z.looseObject({ name: z.string(), parameters: z.unknown().optional() }),
      }),
    )
    .min(1)
    .nullish(),
  tool_choice: toolChoice.nullish(),
  parallel_tool_calls: z.boolean().nullish(),
  reasoning_effort: z.string().nullish(),
  thinking: z.looseObject({ type: z.string() }).nullish(),
  chat_template_kwargs: z.looseObject({ enable_thinking: z.boolean().nullish(), thinking: z.boolean().nullish() }).nullish(),
  max_tokens: z.int().positive().nullish(),
  max_completion_tokens: z.int().positive().nullish(),
  stop: z.union([z.string(), z.array(z.string())]).nullish(),
  response_format: z
    .looseObject({ type: z.string(), json_schema: z.looseObject({ schema: z.unknown().optional() }).nullish() })
    .nullish(),
});

type ChatRequest = z.infer<typeof chatRequest>;
type Message = z.infer<typeof message>;

/** @throws PromptError if the real servers answer 400. */
export function parseChatRequest(body: unknown): Prompt {
  const result = chatRequest.safeParse(body);
  if (!result.success) {
    const issue = result.error.issues[0];
    throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a chat request");
  }
  const request = result.data;
  refuseOrphans(request.messages);
  const lastUserIndex = request.messages.findLastIndex(({ role, content }) => role === "user" && contentText(content) !== "");
  return {
    model: request.model,
    texts: request.messages.map(messageText),
    lastUserText: contentText(request.messages[lastUserIndex]?.content),
    toolResults: trailingResults(request.messages),
    toolRounds: request.messages.slice(lastUserIndex + 1).filter((each) => (each.tool_calls ?? []).length > 0).length,
    tools: allowedTools(
      (request.tools ?? []).map((tool) => ({ name: tool.function.name, schema: tool.function.parameters })),
      allowedNames(request.tool_choice),
    ),
    toolChoice: mapToolChoice(request.tool_choice),
    allowsParallelTools: request.parallel_tool_calls ?? true,
    wantsReasoning: wantsReasoning(request),
    wantsStream: request.stream ?? false,
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    responseSchema: request.response_format?.json_schema?.schema,
    wantsJson: request.response_format?.type === "json_object",
    stopSequences: typeof request.stop === "string" ? [request.stop] : (request.stop ?? []),
  };
}

/** A tool message must answer a call of an earlier assistant message, and every call must be answered. */
function refuseOrphans(messages: readonly Message[]): void {
  let open = new Set<string>();
  for (const [index, { role, tool_calls: calls, tool_call_id: id }] of messages.entries()) {
    if (role === "tool") {
      if (!open.delete(id ?? "")) throw new PromptError(`messages.${index}.tool_call_id`, "no call with this id comes before it");
      continue;
    }
    if (open.size > 0)
      throw new PromptError(`messages.${index}`, `a tool message for ${[...open].join(", ")} must come before it`);
    open = new Set((calls ?? []).map((call) => call.id));
  }
}

function wantsReasoning(request: ChatRequest): boolean {
  const template = request.chat_template_kwargs;
  const switches = [
    request.reasoning_effort == null ? undefined : request.reasoning_effort !== "none",
    request.thinking == null ? undefined : request.thinking.type !== "disabled",
    template?.enable_thinking ?? template?.thinking ?? undefined,
  ];
  return switches.find((each) => each !== undefined) ?? request.model.includes("reasoner");
}

function mapToolChoice(choice: ChatRequest["tool_choice"]): ToolChoice {
  if (choice == null || choice === "auto") return { kind: "auto" };
  if (choice === "none") return { kind: "none" };
  if (choice === "required") return { kind: "any" };
  if (choice.type === "allowed_tools") return { kind: choice.allowed_tools.mode === "required" ? "any" : "auto" };
  return { kind: "named", name: choice.function.name };
}

function allowedNames(choice: ChatRequest["tool_choice"]): string[] | undefined {
  if (choice == null || typeof choice === "string" || choice.type === "function") return undefined;
  return choice.allowed_tools.tools.map((tool) => tool.function.name);
}

function trailingResults(messages: readonly Message[]): string[] {
  const lastOther = messages.findLastIndex(({ role }) => role !== "tool");
  return messages.slice(lastOther + 1).map(({ content }) => contentText(content));
}

function messageText(each: Message): string {
  const calls = (each.tool_calls ?? []).map((call) => call.function.arguments);
  return [contentText(each.content), ...calls].join("");
}

function contentText(value: Message["content"]): string {
  if (value == null) return "";
  return typeof value === "string" ? value : value.map((each) => each.text ?? each.refusal ?? "").join("");
}
