import type { ChatRequest } from "../../protocol/chat/request.ts";
import type { Tool as WireTool, ToolChoice as WireChoice } from "../../protocol/chat/request-tool.ts";
import { isObject } from "../../protocol/json/object.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import type { Conversation } from "../conversation/conversation.ts";
import { below, fieldPath } from "../conversation/field-path.ts";
import type { ToolNames } from "../conversation/names.ts";
import { anyTool, AUTO, FREE_TEXT, namedTool, readParameters, type Tool, type ToolChoice } from "../conversation/tool.ts";
import { asksForSerialCalls, describeTools, type WriteToolsContext } from "../conversation/write-tools.ts";
import { readCacheMark, type ContentContext } from "./read-content.ts";

/** The tools of a request, whichever way the client wrote them. */
export interface ReadTools {
  tools: Tool[];
  choice: ToolChoice;
  /** The client speaks the form from before tools (`functions`), and must be answered in it. */
  isLegacy: boolean;
}

export interface ToolsContext extends ContentContext {
  /** The request as written: schemas are taken from there, byte for byte. */
  body: Buffer;
}

/** @throws GatewayError `invalid_request` when the choice names a missing tool. */
export function readTools(request: ChatRequest, context: ToolsContext): ReadTools {
  const isLegacy = !request.tools?.length && Boolean(request.functions?.length);
  if (isLegacy) {
    const tools = legacyTools(request, context.body);
    return { tools, choice: legacyChoice(request.function_call, tools), isLegacy };
  }
  const all = modernTools(request.tools ?? [], context);
  const allowed = allowedNames(request.tool_choice);
  const tools = allowed === null ? all : all.filter((tool) => allowed.has(tool.name));
  return { tools, choice: readChoice(request.tool_choice, tools), isLegacy };
}

function modernTools(tools: readonly WireTool[], context: ToolsContext): Tool[] {
  const raw = tools.length === 0 ? [] : scanElements(rawMember(context.body, "tools") ?? Buffer.alloc(0));
  return tools.map((tool, index): Tool => {
    const shared = { name: tool.name, description: tool.description ?? null, cache: readCacheMark(tool, context) };
    if (tool.kind === "custom") {
      // A function cannot enforce a grammar on its input.
      if (isObject(tool.format) && tool.format["type"] !== "text") context.omitted.tools.add("tools[].custom.format");
      return { kind: "custom", ...shared, schema: FREE_TEXT, strict: false };
    }
    const holder = tool.isFlat ? raw[index] : rawMember(raw[index], "function");
    return { kind: "function", ...shared, schema: readParameters(tool.parameters, holder), strict: tool.strict ?? false };
  });
}

function legacyTools(request: ChatRequest, body: Buffer): Tool[] {
  const raw = scanElements(rawMember(body, "functions") ?? Buffer.alloc(0));
  return (request.functions ?? []).map(({ name, description, parameters }, index) => ({
    kind: "function",
    name,
    description: description ?? null,
    schema: readParameters(parameters, raw[index]),
    strict: false,
    cache: null,
  }));
}

function allowedNames(choice: WireChoice | null | undefined): Set<string> | null {
  if (typeof choice !== "object" || choice === null || choice.type !== "allowed_tools") return null;
  const tools = choice.allowed_tools?.tools ?? [];
  return new Set(tools.flatMap((tool) => toolName(tool)));
}

function toolName(tool: unknown): string[] {
  if (!isObject(tool)) return [];
  const candidates = [tool["function"], tool["custom"], tool].map((holder) => (isObject(holder) ? holder["name"] : undefined));
  return candidates.filter((name) => typeof name === "string").slice(0, 1);
}

function readChoice(choice: WireChoice | null | undefined, tools: readonly Tool[]): ToolChoice {
  const at = fieldPath("tool_choice");
  if (choice === undefined || choice === null || choice === "auto") return AUTO;
  if (choice === "none") return { type: "none" };
  if (choice === "required") return anyTool(tools, at);
  if (choice.type === "allowed_tools")
    return choice.allowed_tools?.mode === "required" ? anyTool(tools, below(at, "allowed_tools")) : AUTO;
  return namedTool(choice.function?.name ?? choice.custom?.name ?? choice.name, tools, at);
}

function legacyChoice(choice: ChatRequest["function_call"], tools: readonly Tool[]): ToolChoice {
  if (choice === undefined || choice === null || choice === "auto") return AUTO;
  if (choice === "none") return { type: "none" };
  return namedTool(choice.name, tools, fieldPath("function_call"));
}

type Members = { readonly [name: string]: Encodable };

/** `tools`, `tool_choice` and `parallel_tool_calls`; none of them without a tool, because servers reject empty lists. */
export function writeTools(
  conversation: Pick<Conversation, "tools" | "choice" | "isSerial" | "words">,
  context: WriteToolsContext,
): Members {
  const { tools, choice, isSerial } = conversation;
  if (tools.length === 0) return {};
  const functions = describeTools(conversation, context).map(({ name, description, parameters, isStrict }) => ({
    name,
    description,
    parameters,
    ...(isStrict ? { strict: true } : {}),
  }));
  return {
    tools: functions.map((described) => ({ type: "function", function: described })),
    ...writeChoice(),
  };

  function writeChoice(): Members {
    if (choice?.type === "none") return { tool_choice: "none" };
    const isSerialAsked = asksForSerialCalls(conversation, context);
    const chosen = choice ?? (isSerial ? AUTO : null);
    return {
      ...(chosen === null ? {} : { tool_choice: choiceOf(chosen, context.names) }),
      ...(isSerialAsked ? { parallel_tool_calls: false } : {}),
    };
  }
}

function choiceOf(choice: ToolChoice, names: ToolNames): Encodable {
  switch (choice.type) {
    case "none":
    case "auto":
      return choice.type;
    case "any":
      return "required";
    case "tool":
      return { type: "function", function: { name: names.toUpstream(choice.name) } };
  }
}
