import { isObject } from "../../protocol/json/object.ts";

/**
 * Does this JSON Schema meet the requirements of chat's `strict`: every object closed, and all of its properties required? A
 * schema that does not would be rejected. The work list is explicit and grows one by one: nesting may be deeper, and arrays
 * longer, than the stack.
 */
export function isStrictSchema(schema: unknown): boolean {
  const waiting: unknown[] = [schema];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    if (Array.isArray(next)) {
      for (const element of next) if (isContainer(element)) waiting.push(element);
      continue;
    }
    if (!isObject(next)) continue;
    const { properties } = next;
    const isClosed = next["type"] !== "object" && properties === undefined ? true : isClosedObject(next);
    if (!isClosed) return false;
    for (const member of Object.values(next)) if (isContainer(member)) waiting.push(member);
  }
  return true;
}

function isClosedObject(schema: Readonly<Record<string, unknown>>): boolean {
  const { properties, required } = schema;
  if (schema["additionalProperties"] !== false || !isObject(properties)) return false;
  const names = new Set<unknown>(Array.isArray(required) ? required : []);
  return Object.keys(properties).every((name) => names.has(name));
}

function isContainer(value: unknown): boolean {
  return typeof value === "object" && value !== null;
}
