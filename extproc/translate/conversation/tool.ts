import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { editMembers, write } from "../../protocol/json/splice.ts";
import { fieldError, type FieldPath } from "./field-path.ts";
import type { CacheMark } from "./turn.ts";

/** A tool that the client runs. */
export interface Tool {
  /** "custom" takes free text; servers get it as a function with one string. */
  readonly kind: "function" | "custom";
  readonly name: string;
  readonly description: string | null;
  readonly schema: ToolSchema;
  /** The input must match the schema. */
  readonly strict: boolean;
  readonly cache: CacheMark | null;
}

/** A tool's input schema: the verbatim text to forward, and its parsed form. */
export interface ToolSchema {
  readonly text: RawJson;
  readonly parsed: JsonObject;
}

export type ToolChoice = { readonly type: "auto" | "any" | "none" } | { readonly type: "tool"; readonly name: string };

export const AUTO: ToolChoice = { type: "auto" };
export const ANY_INPUT: ToolSchema = {
  text: new RawJson('{"type":"object","properties":{}}'),
  parsed: { type: "object", properties: {} },
};
export const FREE_TEXT: ToolSchema = {
  text: new RawJson('{"type":"object","properties":{"input":{"type":"string"}},"required":["input"]}'),
  parsed: { type: "object", properties: { input: { type: "string" } }, required: ["input"] },
};

/** Must the model call a tool? */
export function isForced(choice: ToolChoice): boolean {
  return choice.type === "any" || choice.type === "tool";
}

/** A schema that chat and Responses call `parameters`: verbatim except for the type, which their own servers fill in. */
export function readParameters(parameters: unknown, holder: Buffer | undefined): ToolSchema {
  const raw = rawMember(holder, "parameters");
  if (!isObject(parameters) || raw === undefined) return ANY_INPUT;
  if (Object.hasOwn(parameters, "type")) return { text: new RawJson(raw.toString("utf8")), parsed: parameters };
  const typed = editMembers(raw, { type: write("object") });
  return { text: new RawJson(typed.toString("utf8")), parsed: { type: "object", ...parameters } };
}

/** The schema as written. The only addition is one without which servers certainly reject it: an object without `properties`. */
export function withProperties({ text, parsed }: ToolSchema): RawJson {
  if (parsed["type"] !== "object" || Object.hasOwn(parsed, "properties")) return text;
  const inner = text.text.trim().slice(1);
  return new RawJson(`{"properties":{},${inner}`);
}

/** @throws GatewayError `invalid_request` if there is no tool to call. */
export function anyTool(tools: readonly Tool[], at: FieldPath): ToolChoice {
  if (tools.length > 0) return { type: "any" };
  throw fieldError(at, " requires a tool call, but the request has no tools. Send the tools, or leave it out.");
}

/** @throws GatewayError `invalid_request` if no tool has the name. */
export function namedTool(name: string | null | undefined, tools: readonly Tool[], at: FieldPath): ToolChoice {
  if (name && tools.some((tool) => tool.name === name)) return { type: "tool", name };
  throw fieldError(at, " must name one of the tools of this request.");
}
