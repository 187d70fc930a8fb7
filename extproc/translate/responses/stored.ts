import { GatewayError } from "../../../contract/errors.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { createFieldTable } from "../field-table.ts";
import { isReasoningReference } from "./own-item.ts";
import { FIELD_POLICIES } from "./policy.ts";

/** Fields about content that a service keeps from one request to the next. */
const STORED: ReadonlySet<string> = new Set(["store", "previous_response_id", "conversation", "background", "prompt"]);
const TABLE = createFieldTable(FIELD_POLICIES.filter(({ field }) => STORED.has(field)));
/** Tools that read or keep data in the account at the provider, which all customers of the gateway would share. */
const STORING_TOOLS: ReadonlySet<unknown> = new Set(["file_search", "code_interpreter", "image_generation"]);

/**
 * For requests that pass unchanged: nothing is stored for them, and nothing stored can be referenced.
 * @param outline of the request (outline.ts).
 * @throws GatewayError `invalid_request` that names the field.
 */
export function refuseStored(outline: JsonObject): void {
  const { refused } = TABLE.judge(outline);
  if (refused !== null) throw refuse(refused.field, `can't be used: ${refused.note}.`);
  const { input, tools } = outline;
  if (Array.isArray(input))
    for (const [index, item] of input.entries())
      if (isObject(item) && isUnknownReference(item)) throw storedItem(`input[${index}]`);
  if (!Array.isArray(tools)) return;
  for (const [index, tool] of tools.entries())
    if (isObject(tool) && STORING_TOOLS.has(tool["type"]))
      throw refuse(`tools[${index}].type`, "names a tool that works with stored files, and none are stored here. Leave it out.");
}

/** Whether an answer would be another without what it refers to. */
export function isUnknownReference({ type, id }: JsonObject): boolean {
  return type === "item_reference" && !isReasoningReference({ type, id });
}

export function storedItem(field: string): GatewayError {
  return refuse(
    field,
    "refers to a stored item, and this model stores no responses. Send the item itself: SDKs do so with `store: false`.",
  );
}

function refuse(field: string, sentence: string): GatewayError {
  return new GatewayError("invalid_request", `\`${field}\` ${sentence}`, { field });
}
