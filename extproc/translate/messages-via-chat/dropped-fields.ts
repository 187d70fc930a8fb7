import { GatewayError } from "../../../contract/errors.ts";
import type { JsonObject } from "../translation.ts";
import { FIELD_POLICIES, type DroppableName, type FieldPolicy } from "./policy.ts";

/** Collects the names of what is left out, each once, in the order in which it was met. */
export interface DroppedFields {
  add(name: DroppableName): void;
  readonly names: readonly string[];
}

const POLICY_OF: ReadonlyMap<string, FieldPolicy> = new Map(FIELD_POLICIES.map((policy) => [policy.field, policy]));
const MAX_NAME_LENGTH = 64;
const MAX_UNKNOWN_NAMES = 16;

/**
 * Starts with the top-level fields that the table drops, and with those that it does not know.
 * @throws GatewayError `invalid_request` for a field that the table refuses.
 */
export function createDroppedFields(request: JsonObject): DroppedFields {
  const names = new Set<string>();
  let unknown = 0;
  for (const [field, value] of Object.entries(request)) {
    const policy = POLICY_OF.get(field);
    if (asksForNothing(value, policy)) continue;
    if (policy?.action === "reject") {
      throw new GatewayError("invalid_request", `\`${field}\` can't be used with this model: ${policy.note}. Leave it out.`, {
        field,
      });
    }
    if (policy?.action === "drop") names.add(field);
    if (policy !== undefined) continue;
    unknown += 1;
    if (unknown <= MAX_UNKNOWN_NAMES) names.add(headerSafe(field));
  }
  return {
    add: (name) => void names.add(name),
    get names() {
      return [...names];
    },
  };
}

function asksForNothing(value: unknown, policy: FieldPolicy | undefined): boolean {
  if (value === null || (Array.isArray(value) && value.length === 0)) return true;
  return policy?.neutral?.includes(value) ?? false;
}

/** The name goes into a response header, so only plain characters of it do. */
function headerSafe(field: string): string {
  return field.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.-]/g, "?");
}
