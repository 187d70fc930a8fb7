import { GatewayError } from "../../../contract/errors.ts";
import { threadUnsupported } from "../../protocol/messages/thread.ts";
import type { JsonObject } from "../../protocol/json/object.ts";
import { createFieldTable } from "../field-table.ts";
import { FIELD_POLICIES } from "./policy.ts";

const TABLE = createFieldTable(FIELD_POLICIES);

/**
 * Top-level fields that the table drops, and unknown ones.
 * @throws GatewayError `invalid_request` for a field that the table rejects.
 */
export function droppedFields(request: JsonObject): string[] {
  const { refused, dropped } = TABLE.judge(request);
  if (refused === null) return dropped;
  const { field, note } = refused;
  if (field === "thread") throw threadUnsupported();
  throw new GatewayError("invalid_request", `\`${field}\` can't be used with this model: ${note}. Leave it out.`, { field });
}
