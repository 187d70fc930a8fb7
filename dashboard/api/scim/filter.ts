import { GatewayError } from "../../../contract/errors.ts";
import type { UserFilter } from "../../../ledger/provisioning/users.ts";
import { attributeOf } from "./attribute-path.ts";

/** A map: an object would also have `constructor`. */
const FIELDS: ReadonlyMap<string, UserFilter["by"]> = new Map([
  ["id", "id"],
  ["username", "userName"],
  ["externalid", "externalId"],
  ["emails", "email"],
  ["emails.value", "email"],
]);
const EQUALS = /^([\w:.]{1,80}(?:\[[^\]]{0,60}\][\w.]{0,20})?) {1,9}eq {1,9}("[^\0]{0,400}")$/i;

/**
 * Identity providers look for the one user of a name, an address or an id of theirs: `userName eq "ann@example.com"`.
 * @throws GatewayError `invalid_request` for other filters of RFC 7644.
 */
export function parseFilter(filter: string): UserFilter {
  const [, field = "", quoted = ""] = EQUALS.exec(filter.trim()) ?? [];
  const by = FIELDS.get(attributeOf(field));
  const value = parseText(quoted);
  if (by === undefined || value === undefined)
    throw new GatewayError(
      "invalid_request",
      'Only filters such as userName eq "ann@example.com" are supported, on userName, externalId, id or emails.value.',
      { field: "filter" },
    );
  return { by, value };
}

/** A JSON string; undefined if it is none. */
function parseText(quoted: string): string | undefined {
  try {
    const value: unknown = JSON.parse(quoted);
    return typeof value === "string" && !value.includes("\0") ? value : undefined;
  } catch {
    return undefined;
  }
}
