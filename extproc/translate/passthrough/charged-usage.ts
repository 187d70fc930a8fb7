import { isCount } from "../../protocol/json/count.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";

/** Usage as a protocol writes it: counts, and objects of those that are parts of others. */
type Counts = { readonly [name: string]: number | Readonly<Record<string, number>> };

/**
 * What the client reads must be what is charged. They differ if the server reports no usage, an impossible one, or a part of it under
 * a name that clients of the protocol do not read.
 * @param usage as the server wrote it. @param charged the same by the gateway, in the protocol's names.
 * @returns the members that change; null for none.
 */
export function chargedMembers(usage: JsonObject, { total_tokens: total, ...charged }: Counts): JsonObject | null {
  const changed: Record<string, unknown> = {};
  for (const [name, tokens] of Object.entries(charged)) {
    const given = usage[name];
    if (typeof tokens === "number") {
      if ((given ?? null) !== tokens) changed[name] = tokens;
    } else if (!isSame(given, tokens)) changed[name] = { ...(isObject(given) && given), ...tokens };
  }
  // The server's own may include what is charged to nobody.
  const hasOther = Object.keys(changed).some((name) => typeof changed[name] === "number");
  if (total !== undefined && (hasOther || !isCount(usage["total_tokens"]))) changed["total_tokens"] = total;
  return Object.keys(changed).length === 0 ? null : changed;
}

/** Parts that are left out are none. */
function isSame(given: unknown, parts: Readonly<Record<string, number>>): boolean {
  if (!isObject(given)) return (given ?? null) === null && Object.values(parts).every((tokens) => tokens === 0);
  return Object.entries(parts).every(([name, tokens]) => (given[name] ?? 0) === tokens);
}
