import type { Backend } from "../../../contract/catalogue.ts";
import { GatewayError } from "../../../contract/errors.ts";
import { isObject } from "../../protocol/json/object.ts";
import type { RequestBody } from "../../protocol/json/request-body.ts";
import { SEARCH_NAMES } from "../../protocol/output/guarded-names.ts";
import { findOfferedTool } from "../../protocol/offered-tools.ts";
import { isServerTool } from "../../protocol/server-tool.ts";

/** Tools that a server runs and bills by their tokens alone. */
const TOKENS_ONLY = /^(web_fetch_.*|tool_search(_tool_.*)?|mcp_toolset)$/;

/**
 * For requests that pass unchanged: charges per search or per session are not covered by any Model's prices, which are for tokens
 * (docs/decisions/0043).
 * @throws GatewayError `invalid_request` that names the field.
 */
export function refuseUnpriced({ outline, serverTool }: RequestBody, { profile }: Pick<Backend, "profile">): void {
  if (profile.unpricedFeatures) return;
  for (const name of SEARCH_NAMES) {
    const value = outline[name];
    if (value !== undefined && value !== null && value !== false) throw unpriced(name, "searches");
  }
  const first = serverTool();
  if (first === null) return;
  const found = isUnpriced(first.tool) ? first : findOfferedTool(outline, isUnpriced);
  if (found === null) return;
  throw unpriced(`${found.field}.type`, "tools that run on the model server", REMEDIES.get(typeOf(found.tool)));
}

function isUnpriced(tool: unknown): boolean {
  return isServerTool(tool) && !TOKENS_ONLY.test(typeOf(tool));
}

/** Empty for one that has no such name. */
function typeOf(tool: unknown): string {
  const type = isObject(tool) ? tool["type"] : undefined;
  return typeof type === "string" ? type : "";
}

/** Tools that either side can run. */
const REMEDIES: ReadonlyMap<unknown, string> = new Map([
  ["shell", 'Run the commands yourself: its `environment` must be `{"type": "local"}`.'],
]);

function unpriced(field: string, what: string, remedy = "Leave it out."): GatewayError {
  return new GatewayError(
    "invalid_request",
    `\`${field}\` is not supported: the model's prices do not cover ${what}. ${remedy}`,
    { field },
  );
}
