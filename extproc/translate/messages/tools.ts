import type { MessagesRequest } from "../../protocol/messages/request.ts";
import type { Tool as WireTool } from "../../protocol/messages/request-tool.ts";
import { encodeJson, RawJson } from "../../protocol/json/raw.ts";
import type { Omitted } from "../conversation/conversation.ts";
import { below, fieldError, fieldPath, type FieldPath } from "../conversation/field-path.ts";
import type { ToolNames } from "../conversation/names.ts";
import { ANY_INPUT, type Tool, type ToolChoice, type ToolSchema } from "../conversation/tool.ts";
import { clientTool } from "./client-tools.ts";
import type { RequestText } from "./request-text.ts";
import { writeInput } from "./input-schema.ts";
import { cacheMember, type Block } from "./wire-block.ts";

/** Used by the messages service alone. */
const MARKS = ["cache_control", "defer_loading", "eager_input_streaming", "allowed_callers", "input_examples"] as const;

/** @throws GatewayError `invalid_request` for a tool that the messages service would run. */
export function readTools(tools: readonly WireTool[], text: RequestText, omitted: Omitted): Tool[] {
  const toolsAt = fieldPath("tools");
  return tools.flatMap((tool, index) => {
    for (const mark of MARKS) if ((tool[mark] ?? null) !== null) omitted.tools.add(`tools.${mark}`);
    if (tool.kind === "typed") return readTypedTool(tool, below(toolsAt, index), omitted);
    return [
      {
        kind: "function" as const,
        name: tool.name,
        description: tool.description || null,
        schema: readSchema(tool.input_schema, text.tool(index, "input_schema")),
        strict: tool.strict === true,
        cache: null,
      },
    ];
  });
}

/** Clients run them, and only models that were trained on them know their forms. */
const BUILT_IN = /^(computer|browser)_/;

function readTypedTool(tool: Extract<WireTool, { kind: "typed" }>, at: FieldPath, omitted: Omitted): Tool[] {
  const spelledOut = clientTool(tool);
  if (spelledOut !== null) {
    const { name, description, parameters } = spelledOut;
    const schema = { text: new RawJson(encodeJson(parameters)), parsed: ANY_INPUT.parsed };
    return [{ kind: "function", name, description: description ?? null, schema, strict: false, cache: null }];
  }
  // It searches among deferred tools, and all of them are sent.
  if (tool.type.startsWith("tool_search_tool_")) {
    omitted.tools.add("tools.tool_search");
    return [];
  }
  if (tool.type === "function")
    throw fieldError(
      below(at, "type"),
      " belongs to a tool of POST /v1/chat/completions. Send `name`, `description` and `input_schema` instead of `type` and `function`.",
    );
  if (BUILT_IN.test(tool.type))
    throw fieldError(at, ": tools of this type are built into other models. Leave it out, or offer a tool of your own.");
  throw fieldError(
    at,
    ": a tool of this type runs on the server, and this model's server has none. Leave it out, or offer a tool of your own.",
  );
}

function readSchema(schema: Extract<WireTool, { kind: "custom" }>["input_schema"], raw: RawJson | undefined): ToolSchema {
  return schema === null || schema === undefined || raw === undefined ? ANY_INPUT : { text: raw, parsed: schema };
}

/** @throws GatewayError `invalid_request` if the choice requires a missing tool. */
export function readChoice(choice: MessagesRequest["tool_choice"], tools: readonly Tool[]): ToolChoice | null {
  if (choice === null || choice === undefined) return null;
  switch (choice.type) {
    case "auto":
    case "none":
      return { type: choice.type };
    case "any":
    case "tool":
      break;
  }
  const at = fieldPath("tool_choice");
  if (tools.length === 0)
    throw fieldError(at, " requires a tool, and `tools` is empty. Send the tools, or leave `tool_choice` out.");
  if (choice.type === "any") return { type: "any" };
  if (tools.some(({ name }) => name === choice.name)) return { type: "tool", name: choice.name };
  throw fieldError(below(at, "name"), " does not name a tool of this request. Send one of the names in `tools`.");
}

export function writeTools(tools: readonly Tool[], names: ToolNames): Block[] {
  return tools.map((tool) => ({
    name: names.toUpstream(tool.name),
    ...writeInput(tool),
    strict: tool.strict ? true : undefined,
    ...cacheMember(tool.cache),
  }));
}

/** Messages requires descriptions of the tools in a history even if none is offered any more. */
export function describeForgotten(names: Iterable<string>): Tool[] {
  return [...new Set(names)].map((name) => ({
    kind: "function",
    name,
    description: null,
    schema: ANY_INPUT,
    strict: false,
    cache: null,
  }));
}

export function writeChoice(choice: ToolChoice, names: ToolNames, isParallel: boolean): Block | undefined {
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
