import { isObject, type JsonObject } from "../protocol/json/object.ts";
import type { Policy } from "./policy.ts";

/** The policies of one protocol's top-level fields, applied to a request. */
export interface FieldTable {
  judge(request: JsonObject): Judgement;
}

interface Judgement {
  /** The first field that the table rejects; null if there is none. */
  refused: Policy | null;
  /** Names of the omitted fields, in the request's order: those of the table, and unknown ones. */
  dropped: string[];
}

const MAX_NAME_LENGTH = 64;
/** A request may have thousands of unknown members; a header can't. */
const MAX_UNKNOWN_NAMES = 16;

export function createFieldTable(policies: readonly Policy[]): FieldTable {
  const policyOf = new Map(policies.map((policy) => [policy.field, policy]));
  return {
    judge(request) {
      const dropped: string[] = [];
      let refused: Policy | null = null;
      let unknown = 0;
      for (const [field, value] of Object.entries(request)) {
        const policy = policyOf.get(field);
        if (asksForNothing(value, policy)) continue;
        if (policy?.action === "reject") refused ??= policy;
        if (policy?.action === "drop") dropped.push(field);
        if (policy !== undefined) continue;
        unknown += 1;
        if (unknown <= MAX_UNKNOWN_NAMES) dropped.push(headerSafe(field));
      }
      return { refused, dropped };
    },
  };
}

/** The name goes into a response header, so only its plain characters are used. */
export function headerSafe(field: string): string {
  return field.slice(0, MAX_NAME_LENGTH).replaceAll(/[^\w.-]/g, "?");
}

function asksForNothing(value: unknown, policy: Policy | undefined): boolean {
  if (value === undefined || value === null || (Array.isArray(value) && value.length === 0)) return true;
  return policy?.neutral?.some((candidate) => isSmallEqual(candidate, value)) ?? false;
}

/** Neutral values are small, so a deep client value is distinguished by its type or size before it is walked. */
function isSmallEqual(neutral: unknown, value: unknown): boolean {
  if (Array.isArray(neutral)) {
    return Array.isArray(value) && value.length === neutral.length && neutral.every((element, index) => element === value[index]);
  }
  if (isObject(neutral)) {
    const members = Object.entries(neutral);
    return (
      isObject(value) &&
      Object.keys(value).length === members.length &&
      members.every(([name, member]) => Object.hasOwn(value, name) && value[name] === member)
    );
  }
  return neutral === value;
}
