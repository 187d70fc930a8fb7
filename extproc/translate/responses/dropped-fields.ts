import { GatewayError } from "../../../contract/errors.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { createFieldTable } from "../field-table.ts";
import { refusePrewarming } from "../prewarming.ts";
import { hostedKind } from "../../protocol/responses/hosted-item.ts";
import { FIELD_POLICIES } from "./policy.ts";
import { isUnknownReference, storedItem } from "./stored.ts";

const TABLE = createFieldTable(FIELD_POLICIES);
/** Values of `include` that have a meaning here. */
const INCLUDED = ["reasoning.encrypted_content"];
const PARTS = ["input_text", "output_text", "text", "refusal", "input_image", "input_file"];

/**
 * Names of this request's dropped fields.
 * @throws GatewayError `invalid_request` for anything that the tables reject: a field, an item, a tool or a content part.
 */
export function checkFields(request: JsonObject): string[] {
  const { refused, dropped } = TABLE.judge(request);
  if (refused !== null) throw refuse(refused.field, `can't be used: ${refused.note}.`);
  refusePrewarming(request);
  const { input, tools, include } = request;
  if (Array.isArray(input)) for (const [index, item] of input.entries()) checkItem(item, `input[${index}]`);
  if (Array.isArray(tools)) for (const [index, tool] of tools.entries()) checkTool(tool, `tools[${index}]`);
  if (Array.isArray(include)) dropped.push(...checkInclude(include));
  return dropped;
}

function checkItem(item: unknown, field: string): void {
  if (!isObject(item)) return;
  const { type, content, output } = item;
  if (isUnknownReference(item)) throw storedItem(field);
  if (typeof type === "string") {
    if (hostedKind(type) !== null) return;
    if (type.startsWith("compaction"))
      throw refuse(
        `${field}.type`,
        "contains earlier turns in a form that only the service that created it can read. Send those turns instead.",
      );
    if (/_call(_output)?$|^(mcp|program|computer|tool_search)/.test(type) && !KNOWN_CALLS.has(type))
      throw refuse(`${field}.type`, "names an item of a tool that another service runs. Leave the item out.");
  }
  for (const [member, parts] of Object.entries({ content, output })) {
    if (type !== "reasoning" && Array.isArray(parts))
      for (const [index, part] of parts.entries()) checkPart(part, `${field}.${member}[${index}]`);
  }
}

const KNOWN_CALLS: ReadonlySet<string> = new Set([
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
]);

function checkPart(part: unknown, field: string): void {
  if (!isObject(part)) return;
  const { type } = part;
  if (typeof type === "string" && !PARTS.includes(type))
    throw refuse(
      `${field}.type`,
      "names content that is not supported. Send text (input_text), images (input_image) or files (input_file).",
    );
}

/** The client runs these, too, but only models that were trained on them know their forms. */
const CLIENT_RUN = /^(local_shell|shell|apply_patch|computer(_.*)?)$/;

function checkTool(tool: unknown, field: string): void {
  if (!isObject(tool)) return;
  const { type, name, execution } = tool;
  if (isObject(tool["function"]) && name === undefined)
    throw refuse(
      `${field}.name`,
      "is missing: here `name`, `description` and `parameters` belong next to `type`, not inside `function`.",
    );
  if (typeof type !== "string" || type === "function" || type === "custom" || type === "namespace") return;
  if (type === "tool_search") {
    if (execution === "client")
      throw refuse(
        `${field}.execution`,
        "asks the client for tools that the request does not contain, and this model knows only those. Send all tools, and leave the search out.",
      );
    return;
  }
  if (CLIENT_RUN.test(type))
    throw refuse(
      `${field}.type`,
      "names a tool that is built into other models: this one does not know it. Offer a function of your own that does the same.",
    );
  throw refuse(
    `${field}.type`,
    "names a tool that runs on the server, and the gateway runs none. Leave it out (coding agents have a setting for it), or offer a function of your own.",
  );
}

function checkInclude(include: readonly unknown[]): string[] {
  const index = include.indexOf("message.output_text.logprobs");
  if (index >= 0) throw refuse(`include[${index}]`, "asks for log probabilities, which are not available. Leave it out.");
  return include.some((name) => typeof name === "string" && !INCLUDED.includes(name)) ? ["include[]"] : [];
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
