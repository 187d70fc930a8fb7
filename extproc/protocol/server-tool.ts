import { isObject } from "./json/object.ts";

/** Tools that the client runs itself, and the names that messages and Responses have for some of them. */
const CLIENT_TOOLS =
  /^(function|custom|namespace|local_shell|apply_patch|computer|(bash|text_editor|computer|browser|memory)_.*)$/;

/** Does the model's server run this tool? Unknown types count as such, too. */
export function isServerTool(tool: unknown): boolean {
  const type = isObject(tool) ? tool["type"] : undefined;
  if (type === undefined || type === null || isLocalShell(tool)) return false;
  return !(typeof type === "string" && CLIENT_TOOLS.test(type));
}

/** Responses' shell: where it runs is in its `environment`, and other places are the server's containers. */
function isLocalShell(tool: unknown): boolean {
  if (!isObject(tool) || tool["type"] !== "shell") return false;
  const { environment } = tool;
  return isObject(environment) && environment["type"] === "local";
}
