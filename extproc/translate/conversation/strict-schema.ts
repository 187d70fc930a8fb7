import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { RawJson } from "../../protocol/json/raw.ts";
import type { Member } from "../../protocol/json/scan.ts";
import { applyCuts, memberCuts } from "../../protocol/json/splice.ts";
import { walkObjects } from "../../protocol/json/walk.ts";
import { holdsSchema } from "./schema-keywords.ts";

/** Keywords that OpenAI's servers do not permit in strict schemas. */
const REFUSED: ReadonlySet<string> = new Set([
  "allOf",
  "oneOf",
  "not",
  "if",
  "then",
  "else",
  "dependentRequired",
  "dependentSchemas",
  "unevaluatedProperties",
  "propertyNames",
  "minProperties",
  "maxProperties",
  "prefixItems",
  "unevaluatedItems",
  "contains",
  "minContains",
  "maxContains",
  "uniqueItems",
]);

/**
 * A schema as chat and Responses servers accept it with `strict`, or null if they would reject it. They require an object at the
 * top; every object closed, and all of its properties required; `$ref` alone; and a type. Schemas of Anthropic's SDKs have no
 * type beside `enum` and `const`: there it follows from the values. Everything else is unchanged.
 */
export function strictSchema(schema: RawJson, parsed: unknown): RawJson | null {
  if (!isObject(parsed) || parsed["type"] !== "object" || Object.hasOwn(parsed, "anyOf")) return null;
  const schemas = schemasIn(parsed);
  if (schemas === null || !schemas.every(isStrict)) return null;
  return schemas.every(isTyped) ? schema : typed(schema);
}

interface Position {
  readonly value: unknown;
  readonly isSchema: boolean;
}

/** Null if one is a boolean. The work list is explicit and grows one by one: nesting may be deeper, and lists longer, than the stack. */
function schemasIn(root: JsonObject): JsonObject[] | null {
  const found: JsonObject[] = [];
  const waiting: Position[] = [{ value: root, isSchema: true }];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const { value, isSchema } = next;
    if (Array.isArray(value)) for (const element of value) waiting.push({ value: element, isSchema });
    else if (!isObject(value)) return null;
    else {
      if (isSchema) found.push(value);
      for (const [name, inner] of Object.entries(value)) {
        const isInner = holdsSchema(isSchema, name);
        if (isInner !== null) waiting.push({ value: inner, isSchema: isInner });
      }
    }
  }
  return found;
}

function isStrict(schema: JsonObject): boolean {
  if (Object.hasOwn(schema, "$ref")) return Object.keys(schema).length === 1;
  if (Object.keys(schema).some((keyword) => REFUSED.has(keyword))) return false;
  if (!isTyped(schema) && literalType(schema) === null) return false;
  const { type, properties } = schema;
  const isObjectSchema = type === "object" || (Array.isArray(type) && type.includes("object")) || properties !== undefined;
  return !isObjectSchema || isClosed(schema);
}

function isTyped(schema: JsonObject): boolean {
  return ["type", "$ref", "anyOf"].some((keyword) => Object.hasOwn(schema, keyword));
}

function isClosed({ additionalProperties, properties, required }: JsonObject): boolean {
  if (additionalProperties !== false || !isObject(properties)) return false;
  const names = new Set<unknown>(Array.isArray(required) ? required : []);
  return Object.keys(properties).every((name) => names.has(name));
}

/** The type of the values that a schema lists; null if it lists none, or objects and arrays. */
function literalType(schema: JsonObject): string | string[] | null {
  const values = Object.hasOwn(schema, "const") ? [schema["const"]] : schema["enum"];
  if (!Array.isArray(values)) return null;
  const types = [...new Set(values.map((value) => (value === null ? "null" : typeof value)))];
  const [first] = types;
  if (first === undefined || types.includes("object")) return null;
  return types.length === 1 ? first : types;
}

function typed(schema: RawJson): RawJson {
  const raw = Buffer.from(schema.text);
  const cuts = walkObjects(raw, true, holdsSchema).flatMap(({ position: isSchema, start, members }) => {
    const listed = isSchema ? listing(raw, members) : {};
    const type = isTyped(listed) ? null : literalType(listed);
    const added = type === null ? [] : [`"type":${JSON.stringify(type)}`];
    return memberCuts({ members, values: members.map(() => "unchanged"), added, inside: start + 1 });
  });
  return new RawJson(
    applyCuts(
      raw,
      cuts.toSorted((one, other) => one.start - other.start),
    ).toString("utf8"),
  );
}

/** A schema's members, of which only those that list values are parsed. */
function listing(raw: Buffer, members: readonly Member[]): JsonObject {
  const parsed = (name: string, { start, end }: Member["value"]): unknown =>
    name === "const" || name === "enum" ? JSON.parse(raw.toString("utf8", start, end)) : null;
  return Object.fromEntries(members.map(({ name, value }) => [name, parsed(name, value)]));
}
