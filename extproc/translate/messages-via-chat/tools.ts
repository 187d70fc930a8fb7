import { GatewayError } from "../../../contract/errors.ts";
import { RawJson, type Encodable } from "../../protocol/json/raw.ts";
import type { MessagesRequest } from "../../protocol/messages/request.ts";
import type { CustomTool, Tool } from "../../protocol/messages/request-tool.ts";
import { clientTool, type FunctionTool } from "./client-tools.ts";
import type { ConversationContext } from "./conversation-context.ts";
import { isStrictSchema } from "../conversation/strict-schema.ts";

const MARKS = ["cache_control", "defer_loading", "eager_input_streaming", "allowed_callers", "input_examples"] as const;

/** `tools`, `tool_choice` and `parallel_tool_calls`; none of them where there is no tool, for servers refuse empty lists. */
export function translateTools(request: MessagesRequest, context: ConversationContext): { readonly [name: string]: Encodable } {
  const tools = (request.tools ?? []).flatMap((tool, index) => translateTool(tool, index, context));
  if (tools.length === 0) {
    if (request.tool_choice && request.tool_choice.type !== "none") refuseChoiceWithoutTools(request.tool_choice.type);
    return {};
  }
  return {
    tools: tools.map((tool) => ({ type: "function", function: { ...tool } })),
    ...translateChoice(request, tools, context),
  };
}

/** The names of all tools that a request speaks of: those it offers, chooses, and has called before. */
export function toolNamesOf(request: MessagesRequest): string[] {
  const offered = (request.tools ?? []).flatMap((tool) =>
    tool.kind === "custom" ? [tool.name] : (clientTool(tool)?.name ?? []),
  );
  const called = request.messages.flatMap(({ content }) =>
    content.flatMap((block) => (block.type === "tool_use" ? [block.name] : [])),
  );
  return [...offered, ...called];
}

function translateTool(tool: Tool, index: number, context: ConversationContext): FunctionTool[] {
  for (const mark of MARKS) {
    if (mark in tool && tool[mark] !== undefined && tool[mark] !== null) context.dropped.add(`tools.${mark}`);
  }
  if (tool.kind === "custom") return [translateCustomTool(tool, index, context)];
  const spelledOut = clientTool(tool);
  if (spelledOut !== null) return [{ ...spelledOut, name: context.names.toUpstream(spelledOut.name) }];
  // It searches among deferred tools, and all of them are sent.
  if (tool.type.startsWith("tool_search_tool_")) {
    context.dropped.add("tools.tool_search");
    return [];
  }
  const field = `tools[${index}]`;
  throw new GatewayError(
    "invalid_request",
    `\`${field}\`: a tool of this type runs on the server, and this model's server has none. Leave it out, or offer a tool of your own.`,
    { field },
  );
}

function translateCustomTool(tool: CustomTool, index: number, { names, text, dropped }: ConversationContext): FunctionTool {
  const isStrict = tool.strict === true && isStrictSchema(tool.input_schema);
  if (tool.strict === true && !isStrict) dropped.add("tools.strict");
  return {
    name: names.toUpstream(tool.name),
    ...(tool.description ? { description: tool.description } : {}),
    parameters: translateSchema(tool.input_schema, text.tool(index, "input_schema")),
    ...(isStrict ? { strict: true } : {}),
  };
}

/** The schema as it is written. Only what servers refuse for certain is added: an object without `properties`. */
function translateSchema(schema: CustomTool["input_schema"], raw: RawJson | undefined): Encodable {
  if (schema === null || schema === undefined || raw === undefined) return { type: "object", properties: {} };
  if (schema["type"] !== "object" || Object.hasOwn(schema, "properties")) return raw;
  const inner = raw.text.trim().slice(1);
  return new RawJson(`{"properties":{},${inner}`);
}

function translateChoice(
  { tool_choice: choice }: MessagesRequest,
  tools: readonly FunctionTool[],
  { names, profile, dropped }: ConversationContext,
): { readonly [name: string]: Encodable } {
  if (choice === null || choice === undefined) return {};
  if (choice.type === "none") return { tool_choice: "none" };
  const isSerial = choice.disable_parallel_tool_use === true;
  const isSerialTaken = isSerial && !profile.rejects.includes("parallel_tool_calls");
  if (isSerial && !isSerialTaken) dropped.add("tool_choice.disable_parallel_tool_use");
  return { tool_choice: choiceOf(choice, tools, names), ...(isSerialTaken ? { parallel_tool_calls: false } : {}) };
}

function choiceOf(
  choice: Exclude<NonNullable<MessagesRequest["tool_choice"]>, { type: "none" }>,
  tools: readonly FunctionTool[],
  names: ConversationContext["names"],
): Encodable {
  switch (choice.type) {
    case "auto":
      return "auto";
    case "any":
      return "required";
    case "tool": {
      const name = names.toUpstream(choice.name);
      if (tools.some((tool) => tool.name === name)) return { type: "function", function: { name } };
      throw new GatewayError(
        "invalid_request",
        "`tool_choice.name` names no tool of this request. Send one of the names in `tools`.",
        {
          field: "tool_choice.name",
        },
      );
    }
  }
}

function refuseChoiceWithoutTools(type: string): void {
  if (type === "auto") return;
  throw new GatewayError(
    "invalid_request",
    "`tool_choice` demands a tool, and `tools` has none. Send the tools, or leave `tool_choice` out.",
    {
      field: "tool_choice",
    },
  );
}
