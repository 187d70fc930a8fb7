import { GatewayError } from "../../../contract/errors.ts";
import type { ChatRequest } from "../../protocol/chat/request.ts";
import type { Tool, ToolChoice } from "../../protocol/chat/request-tool.ts";
import { isObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import { editMembers, write } from "../../protocol/json/splice.ts";
import type { ToolNames } from "../conversation/names.ts";
import type { Block } from "./block.ts";
import { cacheMark, type ContentOptions } from "./content.ts";

/** The tools of a request, whichever way the client wrote them. */
export interface OfferedTools {
  tools: OfferedTool[];
  choice: Choice;
  /** The client speaks the form from before tools (`functions`), and must be answered in it. */
  isLegacy: boolean;
  dropped: string[];
}

export interface OfferedTool {
  kind: "function" | "custom";
  name: string;
  description: string | null;
  /** The parameters as the client wrote them. */
  schema: RawJson;
  strict: boolean;
  cache_control?: unknown;
}

/** `isForced`: the model must call a tool. */
export type Choice = { type: "auto" | "any" | "none"; isForced: boolean } | { type: "tool"; name: string; isForced: true };

const ANY_ARGUMENTS = '{"type":"object","properties":{}}';
/** What a custom tool takes, as a function: free text. */
export const FREE_TEXT = '{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}';

/**
 * @param body the request as written: schemas are taken from there, byte for byte.
 * @throws GatewayError `invalid_request` when the choice names a tool that is not there.
 */
export function readTools(request: ChatRequest, body: Buffer): OfferedTools {
  const isLegacy = !request.tools?.length && Boolean(request.functions?.length);
  const all = isLegacy ? legacyTools(request, body) : modernTools(request.tools ?? [], body);
  if (isLegacy) return { tools: all, choice: legacyChoice(request.function_call, all), isLegacy, dropped: [] };
  const allowed = allowedNames(request.tool_choice);
  const tools = allowed === null ? all : all.filter((tool) => allowed.has(tool.name));
  return { tools, choice: readChoice(request.tool_choice, tools), isLegacy, dropped: droppedFormats(request.tools ?? []) };
}

/** Tools in messages' shape. */
export function translateTools(tools: readonly OfferedTool[], names: ToolNames, cacheTtl: ContentOptions["cacheTtl"]): Block[] {
  return tools.map((tool) => ({
    name: names.toUpstream(tool.name),
    description: tool.description ?? undefined,
    input_schema: tool.schema,
    strict: tool.strict ? true : undefined,
    ...cacheMark(tool, { cacheTtl }),
  }));
}

/** Messages wants the tools of a history described even when none is offered any more. */
export function describeForgotten(names: Iterable<string>): OfferedTool[] {
  return [...new Set(names)].map((name) => ({
    kind: "function",
    name,
    description: null,
    schema: new RawJson(ANY_ARGUMENTS),
    strict: false,
  }));
}

export function translateChoice(choice: Choice, names: ToolNames, isParallel: boolean): Block | undefined {
  const serial = isParallel ? {} : { disable_parallel_tool_use: true };
  switch (choice.type) {
    case "none":
      return { type: "none" };
    case "auto":
      return isParallel ? undefined : { type: "auto", ...serial };
    case "any":
      return { type: "any", ...serial };
    case "tool":
      return { type: "tool", name: names.toUpstream(choice.name), ...serial };
  }
}

function modernTools(tools: readonly Tool[], body: Buffer): OfferedTool[] {
  const raw = tools.length === 0 ? [] : scanElements(rawMember(body, "tools") ?? Buffer.alloc(0));
  return tools.map((tool, index): OfferedTool => {
    const { name, cache_control } = tool;
    const description = tool.description ?? null;
    if (tool.kind === "custom") {
      return { kind: "custom", name, description, schema: new RawJson(FREE_TEXT), strict: false, cache_control };
    }
    const holder = tool.isFlat ? raw[index] : rawMember(raw[index], "function");
    return {
      kind: "function",
      name,
      description,
      schema: readSchema(tool.parameters, holder),
      strict: tool.strict ?? false,
      cache_control,
    };
  });
}

/** What a grammar demands of a custom tool's input, messages cannot. */
function droppedFormats(tools: readonly Tool[]): string[] {
  const isDropped = tools.some((tool) => tool.kind === "custom" && isObject(tool.format) && tool.format["type"] !== "text");
  return isDropped ? ["tools[].custom.format"] : [];
}

function legacyTools(request: ChatRequest, body: Buffer): OfferedTool[] {
  const raw = scanElements(rawMember(body, "functions") ?? Buffer.alloc(0));
  return (request.functions ?? []).map(({ name, description, parameters }, index) => ({
    kind: "function",
    name,
    description: description ?? null,
    schema: readSchema(parameters, raw[index]),
    strict: false,
  }));
}

/** Verbatim but for the type, which messages demands and chat's servers fill in. */
export function readSchema(parameters: unknown, holder: Buffer | undefined): RawJson {
  const raw = rawMember(holder, "parameters");
  if (!isObject(parameters) || raw === undefined) return new RawJson(ANY_ARGUMENTS);
  const schema = Object.hasOwn(parameters, "type") ? raw : editMembers(raw, { type: write("object") });
  return new RawJson(schema.toString("utf8"));
}

function allowedNames(choice: ToolChoice | null | undefined): Set<string> | null {
  if (typeof choice !== "object" || choice === null || choice.type !== "allowed_tools") return null;
  const tools = choice.allowed_tools?.tools ?? [];
  return new Set(tools.flatMap((tool) => toolName(tool)));
}

function toolName(tool: unknown): string[] {
  if (!isObject(tool)) return [];
  const candidates = [tool["function"], tool["custom"], tool].map((holder) => (isObject(holder) ? holder["name"] : undefined));
  return candidates.filter((name) => typeof name === "string").slice(0, 1);
}

function readChoice(choice: ToolChoice | null | undefined, tools: readonly OfferedTool[]): Choice {
  if (choice === undefined || choice === null || choice === "auto") return { type: "auto", isForced: false };
  if (choice === "none") return { type: "none", isForced: false };
  if (choice === "required") return anyTool(tools, "tool_choice");
  if (choice.type === "allowed_tools") {
    return choice.allowed_tools?.mode === "required"
      ? anyTool(tools, "tool_choice.allowed_tools")
      : { type: "auto", isForced: false };
  }
  return namedTool(choice.function?.name ?? choice.custom?.name ?? choice.name, tools, "tool_choice");
}

function legacyChoice(choice: ChatRequest["function_call"], tools: readonly OfferedTool[]): Choice {
  if (choice === undefined || choice === null || choice === "auto") return { type: "auto", isForced: false };
  if (choice === "none") return { type: "none", isForced: false };
  return namedTool(choice.name, tools, "function_call");
}

export function anyTool(tools: readonly OfferedTool[], field: string): Choice {
  if (tools.length > 0) return { type: "any", isForced: true };
  throw new GatewayError(
    "invalid_request",
    `\`${field}\` demands a tool call, but no tool is offered. Send the tools, or leave it out.`,
    { field },
  );
}

export function namedTool(name: string | null | undefined, tools: readonly OfferedTool[], field: string): Choice {
  if (name && tools.some((tool) => tool.name === name)) return { type: "tool", name, isForced: true };
  throw new GatewayError("invalid_request", `\`${field}\` must name one of the tools of this request.`, { field });
}
