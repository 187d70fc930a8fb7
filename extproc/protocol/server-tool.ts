import { isObject } from "./json/object.ts";

/** Tools that the client runs itself, and the names that messages and Responses have for some of them. */
const CLIENT_TOOLS = /^(function|custom|namespace|local_shell|apply_patch|(bash|text_editor|computer|memory)_.*)$/;

/** Does the model's server run this tool? Unknown types count as such, too. */
export function isServerTool(tool: unknown): boolean {
  const type = isObject(tool) ? tool["type"] : undefined;
  return type !== undefined && type !== null && !(typeof type === "string" && CLIENT_TOOLS.test(type));
}
