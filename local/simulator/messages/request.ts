import * as z from "zod";
import { PromptError, type Prompt, type ToolChoice } from "../prompt.ts";

const textBlock = z.looseObject({ type: z.literal("text"), text: z.string() });
const block = z.looseObject({
  type: z.string(),
  text: z.string().nullish(),
  id: z.string().nullish(),
  input: z.unknown().optional(),
  tool_use_id: z.string().nullish(),
  content: z.unknown().optional(),
});
const content = z.union([z.string(), z.array(block)]);
const message = z.looseObject({ role: z.enum(["user", "assistant", "system"]), content });

const messagesRequest = z.looseObject({
  model: z.string().min(1),
  max_tokens: z.int().nonnegative(),
  messages: z.array(message).min(1),
  system: z.union([z.string(), z.array(textBlock)]).nullish(),
  stream: z.boolean().nullish(),
  tools: z.array(z.looseObject({ name: z.string(), input_schema: z.unknown().optional() })).nullish(),
  tool_choice: z
    .looseObject({
      type: z.enum(["auto", "any", "tool", "none"]),
      name: z.string().nullish(),
      disable_parallel_tool_use: z.boolean().nullish(),
    })
    .nullish(),
  thinking: z.looseObject({ type: z.enum(["enabled", "disabled", "adaptive"]) }).nullish(),
  stop_sequences: z.array(z.string()).nullish(),
  output_config: z.looseObject({ format: z.looseObject({ schema: z.unknown().optional() }).nullish() }).nullish(),
});

type MessagesRequest = z.infer<typeof messagesRequest>;
type Block = z.infer<typeof block>;

/** @throws PromptError if the real servers answer 400. */
export function parseMessagesRequest(body: unknown): Prompt {
  return toPrompt(parse(messagesRequest, body));
}

/** The same without `max_tokens`. */
export function parseCountRequest(body: unknown): Prompt {
  return toPrompt({ ...parse(messagesRequest.omit({ max_tokens: true }), body), max_tokens: 1 });
}

function parse<Schema extends z.ZodType>(schema: Schema, body: unknown): z.infer<Schema> {
  const result = schema.safeParse(body);
  if (result.success) return result.data;
  const issue = result.error.issues[0];
  throw new PromptError(issue?.path.join(".") ?? "body", issue?.message ?? "not a messages request");
}

function toPrompt(request: MessagesRequest): Prompt {
  const turns = request.messages.map(({ role, content }) => ({ role, blocks: blocksOf(content) }));
  refuseOrphans(turns);
  const system = request.system == null ? [] : [blocksOf(request.system).map(blockText).join("")];
  const lastUserIndex = turns.findLastIndex(({ role, blocks }) => role === "user" && plainText(blocks) !== "");
  return {
    model: request.model,
    texts: [...system, ...turns.map(({ blocks }) => blocks.map(blockText).join(""))],
    lastUserText: plainText(turns[lastUserIndex]?.blocks ?? []),
    toolResults: (turns.at(-1)?.blocks ?? []).filter(({ type }) => type === "tool_result").map(blockText),
    toolRounds: turns.slice(lastUserIndex + 1).filter(({ blocks }) => blocks.some(({ type }) => type === "tool_use")).length,
    tools: (request.tools ?? []).map((tool) => ({ name: tool.name, schema: tool.input_schema })),
    toolChoice: mapToolChoice(request.tool_choice),
    allowsParallelTools: request.tool_choice?.disable_parallel_tool_use !== true,
    wantsReasoning: request.thinking == null ? request.model.includes("reasoner") : request.thinking.type !== "disabled",
    wantsStream: request.stream ?? false,
    maxOutputTokens: request.max_tokens,
    responseSchema: request.output_config?.format?.schema,
    wantsJson: false,
    stopSequences: request.stop_sequences ?? [],
  };
}

interface Turn {
  role: string;
  blocks: readonly Block[];
}

/** A turn's tool uses must all be answered by the results at the start of the next. */
function refuseOrphans(turns: readonly Turn[]): void {
  let open = new Set<string>();
  for (const [index, { blocks }] of turns.entries()) {
    for (const { type, tool_use_id: id } of blocks) {
      if (type === "tool_result" && !open.delete(id ?? "")) {
        throw new PromptError(`messages.${index}`, "a `tool_result` has no `tool_use` in the message before it");
      }
    }
    if (open.size > 0)
      throw new PromptError(`messages.${index}`, `\`tool_use\` without \`tool_result\` right after it: ${[...open].join(", ")}`);
    open = new Set(blocks.filter(({ type }) => type === "tool_use").map(({ id }) => id ?? ""));
  }
}

function mapToolChoice(choice: MessagesRequest["tool_choice"]): ToolChoice {
  switch (choice?.type) {
    case undefined:
    case "auto":
      return { kind: "auto" };
    case "none":
      return { kind: "none" };
    case "any":
      return { kind: "any" };
    case "tool":
      return { kind: "named", name: choice?.name ?? "" };
  }
}

function blocksOf(value: string | readonly Block[] | readonly z.infer<typeof textBlock>[]): Block[] {
  if (typeof value === "string") return [{ type: "text", text: value }];
  return value.map((each) => block.parse(each));
}

/** Text, tool arguments and results count as prompt; images and thinking do not. */
function blockText(each: Block): string {
  switch (each.type) {
    case "text":
      return each.text ?? "";
    case "tool_use":
      return JSON.stringify(each.input ?? {});
    case "tool_result":
      return content.safeParse(each.content).success ? blocksOf(content.parse(each.content)).map(blockText).join("") : "";
    default:
      return "";
  }
}

function plainText(blocks: readonly Block[]): string {
  return blocks
    .filter(({ type }) => type === "text")
    .map(blockText)
    .join("");
}
