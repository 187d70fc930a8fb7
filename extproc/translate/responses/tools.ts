import { GatewayError } from "../../../contract/errors.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import type { ResponsesRequest } from "../../protocol/responses/request.ts";
import type { Tool as WireTool, ToolChoice as WireChoice, ToolOf } from "../../protocol/responses/request-tool.ts";
import type { Encodable } from "../../protocol/json/raw.ts";
import type { Conversation, Omitted } from "../conversation/conversation.ts";
import { fieldPath } from "../conversation/field-path.ts";
import type { ToolNames } from "../conversation/names.ts";
import { anyTool, FREE_TEXT, namedTool, readParameters, type Tool, type ToolChoice } from "../conversation/tool.ts";
import { asksForSerialCalls, describeTools, type WriteToolsContext } from "../conversation/write-tools.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  kind: "function" | "custom";
  name: string;
  namespace: string | null;
}

export interface ReadTools {
  tools: Tool[];
  /** Null if the model decides. */
  choice: ToolChoice | null;
  /** By the one name under which the model gets it. */
  clientTools: ReadonlyMap<string, ClientTool>;
}

/** Only this protocol has namespaces: the model gets both names as one. */
export function flatToolName(name: string, namespace: string | null | undefined): string {
  return namespace ? `${namespace}__${name}` : name;
}

/**
 * @param body the request as written: schemas are taken from there, byte for byte.
 * @throws GatewayError `invalid_request` when two tools have one name, or the choice names a missing tool.
 */
export function readTools(request: ResponsesRequest, body: Buffer, omitted: Omitted): ReadTools {
  const raw = request.tools?.length ? scanElements(rawMember(body, "tools") ?? Buffer.alloc(0)) : [];
  const read = (request.tools ?? []).flatMap((tool, index) => readTool(tool, raw[index]));
  const clientTools = new Map(read.map(({ offered, client }) => [offered.name, client]));
  if (clientTools.size < read.length) {
    throw new GatewayError("invalid_request", "`tools` has two tools with the same name. Rename one of them.", {
      field: "tools",
    });
  }
  noteFormats(request.tools ?? [], omitted);
  if (request.tools?.some(({ type }) => type === "tool_search") === true) omitted.tools.add("tools[].tool_search");
  const allowed = allowedNames(request.tool_choice);
  const tools = read.map(({ offered }) => offered).filter(({ name }) => allowed === null || allowed.has(name));
  return { tools, choice: readChoice(request.tool_choice, tools), clientTools };
}

interface ReadTool {
  offered: Tool;
  client: ClientTool;
}

function readTool(tool: WireTool, raw: Buffer | undefined): ReadTool[] {
  // It finds deferred tools, and all of them are sent.
  if (tool.type === "tool_search") return [];
  if (tool.type !== "namespace") return [readSingle(tool, raw, null)];
  const members = scanElements(rawMember(raw, "tools") ?? Buffer.alloc(0));
  return tool.tools.map((member, index) => readSingle(member, members[index], tool.name));
}

function readSingle(tool: ToolOf<"function" | "custom">, raw: Buffer | undefined, namespace: string | null): ReadTool {
  const shared = { name: flatToolName(tool.name, namespace), description: tool.description ?? null, cache: null };
  const client = { kind: tool.type, name: tool.name, namespace };
  return tool.type === "custom"
    ? { offered: { kind: "custom", ...shared, schema: FREE_TEXT, strict: false }, client }
    : {
        offered: { kind: "function", ...shared, schema: readParameters(tool.parameters, raw), strict: tool.strict ?? false },
        client,
      };
}

/** Functions cannot enforce a grammar on a custom tool's input. */
function noteFormats(tools: readonly WireTool[], omitted: Omitted): void {
  const single = tools.flatMap((tool) => (tool.type === "namespace" ? tool.tools : [tool]));
  const isDropped = single.some((tool) => tool.type === "custom" && (tool.format?.["type"] ?? "text") !== "text");
  if (isDropped) omitted.tools.add("tools[].format");
}

function allowedNames(choice: WireChoice | null | undefined): Set<string> | null {
  if (typeof choice !== "object" || choice === null || choice.type !== "allowed_tools") return null;
  return new Set(choice.tools.map(({ name, namespace }) => flatToolName(name, namespace)));
}

function readChoice(choice: WireChoice | null | undefined, tools: readonly Tool[]): ToolChoice | null {
  const at = fieldPath("tool_choice");
  if (choice === undefined || choice === null || choice === "auto") return null;
  if (choice === "none") return { type: "none" };
  if (choice === "required") return anyTool(tools, at);
  if (choice.type === "allowed_tools") return choice.mode === "required" ? anyTool(tools, at) : null;
  return namedTool(flatToolName(choice.name, choice.namespace), tools, at);
}

type Members = { readonly [name: string]: Encodable };

/** `tools`, `tool_choice` and `parallel_tool_calls`; none of them without a tool. */
export function writeTools(
  conversation: Pick<Conversation, "tools" | "choice" | "isSerial" | "words">,
  context: WriteToolsContext,
): Members {
  const { tools, choice } = conversation;
  if (tools.length === 0) return {};
  const isSerialAsked = asksForSerialCalls(conversation, context);
  return {
    // If omitted, `strict` would be true, and the server would change the schema or reject it.
    tools: describeTools(conversation, context).map(({ isStrict, ...tool }) => ({ type: "function", ...tool, strict: isStrict })),
    tool_choice: choice === null ? undefined : writeChoice(choice, context.names),
    parallel_tool_calls: isSerialAsked ? false : undefined,
  };
}

function writeChoice(choice: ToolChoice, names: ToolNames): Encodable {
  switch (choice.type) {
    case "none":
    case "auto":
      return choice.type;
    case "any":
      return "required";
    case "tool":
      return { type: "function", name: names.toUpstream(choice.name) };
  }
}
