import { GatewayError } from "../../../contract/errors.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import type { ResponsesRequest } from "../../protocol/responses/request.ts";
import type { Tool, ToolChoice, ToolOf } from "../../protocol/responses/request-tool.ts";
import { anyTool, FREE_TEXT, namedTool, readSchema, type Choice, type OfferedTool } from "../chat-via-messages/tools.ts";

/** A tool as the client knows it. */
export interface ClientTool {
  kind: "function" | "custom";
  name: string;
  namespace: string | null;
}

export interface ResponsesTools {
  tools: OfferedTool[];
  choice: Choice;
  /** By the one name under which the model gets it. */
  clientTools: ReadonlyMap<string, ClientTool>;
  dropped: string[];
}

/** Namespaces exist here alone: the model gets both names as one. */
export function flatToolName(name: string, namespace: string | null | undefined): string {
  return namespace ? `${namespace}__${name}` : name;
}

/**
 * @param body the request as written: schemas are taken from there, byte for byte.
 * @throws GatewayError `invalid_request` when two tools have one name, or the choice names a tool that is not there.
 */
export function readTools(request: ResponsesRequest, body: Buffer): ResponsesTools {
  const raw = request.tools?.length ? scanElements(rawMember(body, "tools") ?? Buffer.alloc(0)) : [];
  const read = (request.tools ?? []).flatMap((tool, index) => readTool(tool, raw[index]));
  const clientTools = new Map(read.map(({ offered, client }) => [offered.name, client]));
  if (clientTools.size < read.length) {
    throw new GatewayError("invalid_request", "`tools` has two tools of one name. Rename one of them.", { field: "tools" });
  }
  const allowed = allowedNames(request.tool_choice);
  const tools = read.map(({ offered }) => offered).filter(({ name }) => allowed === null || allowed.has(name));
  return { tools, choice: readChoice(request.tool_choice, tools), clientTools, dropped: droppedFormats(request.tools ?? []) };
}

interface ReadTool {
  offered: OfferedTool;
  client: ClientTool;
}

function readTool(tool: Tool, raw: Buffer | undefined): ReadTool[] {
  if (tool.type !== "namespace") return [readSingle(tool, raw, null)];
  const members = scanElements(rawMember(raw, "tools") ?? Buffer.alloc(0));
  return tool.tools.map((member, index) => readSingle(member, members[index], tool.name));
}

function readSingle(tool: ToolOf<"function" | "custom">, raw: Buffer | undefined, namespace: string | null): ReadTool {
  const shared = { name: flatToolName(tool.name, namespace), description: tool.description ?? null };
  const client = { kind: tool.type, name: tool.name, namespace };
  return tool.type === "custom"
    ? { offered: { kind: "custom", ...shared, schema: new RawJson(FREE_TEXT), strict: false }, client }
    : {
        offered: { kind: "function", ...shared, schema: readSchema(tool.parameters, raw), strict: tool.strict ?? false },
        client,
      };
}

/** What a grammar demands of a custom tool's input, functions cannot. */
function droppedFormats(tools: readonly Tool[]): string[] {
  const single = tools.flatMap((tool) => (tool.type === "namespace" ? tool.tools : [tool]));
  const isDropped = single.some((tool) => tool.type === "custom" && (tool.format?.["type"] ?? "text") !== "text");
  return isDropped ? ["tools[].format"] : [];
}

function allowedNames(choice: ToolChoice | null | undefined): Set<string> | null {
  if (typeof choice !== "object" || choice === null || choice.type !== "allowed_tools") return null;
  return new Set(choice.tools.map(({ name, namespace }) => flatToolName(name, namespace)));
}

function readChoice(choice: ToolChoice | null | undefined, tools: readonly OfferedTool[]): Choice {
  if (choice === undefined || choice === null || choice === "auto") return { type: "auto", isForced: false };
  if (choice === "none") return { type: "none", isForced: false };
  if (choice === "required") return anyTool(tools, "tool_choice");
  if (choice.type === "allowed_tools")
    return choice.mode === "required" ? anyTool(tools, "tool_choice") : { type: "auto", isForced: false };
  return namedTool(flatToolName(choice.name, choice.namespace), tools, "tool_choice");
}
