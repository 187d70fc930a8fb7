import { GatewayError } from "../../../contract/errors.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { createFieldTable, headerSafe } from "../field-table.ts";
import { refusePrewarming } from "../prewarming.ts";
import { FIELD_POLICIES } from "./policy.ts";

const TABLE = createFieldTable(FIELD_POLICIES);
/** The members that are read from fields that are objects; others are dropped, named `field.member`. */
const READ_MEMBERS: Readonly<Record<string, readonly string[]>> = {
  stream_options: ["include_usage"],
  reasoning: ["effort", "max_tokens", "exclude", "enabled"],
  chat_template_kwargs: ["enable_thinking", "thinking"],
};
/** Values that ask for nothing, as null does. */
const NEUTRAL_MEMBERS: Readonly<Record<string, JsonObject>> = {
  // No event is padded anyway.
  stream_options: { include_obfuscation: false },
};
const MAX_UNREAD_NAMES = 16;

/**
 * Names of this request's dropped fields.
 * @throws GatewayError `invalid_request` for a field that the table rejects.
 */
export function droppedFields(request: JsonObject): string[] {
  const { refused, dropped } = TABLE.judge(request);
  if (refused !== null) {
    const { field, note } = refused;
    throw new GatewayError("invalid_request", `\`${field}\` is not possible with this model: ${note}. Leave it out.`, { field });
  }
  refusePrewarming(request);
  return [...dropped, ...unreadMembers(request).slice(0, MAX_UNREAD_NAMES)];
}

function unreadMembers(request: JsonObject): string[] {
  return Object.entries(READ_MEMBERS).flatMap(([field, read]) => {
    const value = request[field];
    if (!isObject(value)) return [];
    const neutral = NEUTRAL_MEMBERS[field];
    const asksForNothing = (member: string) => value[member] === null || value[member] === neutral?.[member];
    const unread = Object.keys(value).filter((member) => !read.includes(member) && !asksForNothing(member));
    return unread.map((member) => `${field}.${headerSafe(member)}`);
  });
}
