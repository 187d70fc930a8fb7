import * as z from "zod";
import { celPattern, encodeRule } from "./explain.ts";

/** A schema in the format of a CustomResourceDefinition. */
export type StructuralSchema = { [keyword: string]: unknown };

/** In output order; any other output of zod is a bug here. */
const KEYWORDS = [
  "description",
  "type",
  "format",
  "enum",
  "nullable",
  "default",
  "pattern",
  "minLength",
  "maxLength",
  "minimum",
  "maximum",
  "minItems",
  "maxItems",
  "required",
  "x-kubernetes-list-type",
  "x-kubernetes-list-map-keys",
  "x-kubernetes-validations",
] as const;
/** Implied by a structural schema: unknown fields are pruned, or rejected by strict validation. */
const IMPLIED = new Set(["additionalProperties", "propertyNames", "properties", "items", "exclusiveMinimum", "allOf"]);

const HOURS_AND_MINUTES = String.raw`([01]\d|2[0-3]):[0-5]\d`;
/**
 * RFC 3339 in capitals, without leap seconds, as zod has it. The API server checks days by the format, but accepts more forms, and
 * offsets that no clock has.
 */
const TIME_FORM = String.raw`^\d{4}-\d{2}-\d{2}T${HOURS_AND_MINUTES}:[0-5]\d(\.\d+)?(Z|[+-]${HOURS_AND_MINUTES})$`;

/**
 * Allowed input, from the zod schema that the operator parses with. Patterns become CEL rules, so that the API server rejects
 * with zod's messages instead of showing a regular expression.
 * @throws Error if a field has no description, or a schema uses something that Kubernetes cannot express.
 */
export function toStructuralSchema(schema: z.ZodType): StructuralSchema {
  const json = z.toJSONSchema(schema, {
    io: "input",
    target: "openapi-3.0",
    override: ({ zodSchema, jsonSchema }) => {
      if (zodSchema instanceof z.core.$ZodString) convertPatterns(zodSchema, jsonSchema);
      if (zodSchema instanceof z.core.$ZodRecord) spreadRecord(zodSchema, jsonSchema);
    },
  });
  return structural(json, "");
}

function convertPatterns(schema: z.core.$ZodString, json: z.core.JSONSchema.BaseSchema): void {
  if (json.format === "date-time") {
    // CEL sees a time here, not a text.
    json.pattern = TIME_FORM;
    return;
  }
  delete json.pattern;
  delete json.allOf;
  const rules = readRules(json);
  for (const check of schema._zod.def.checks ?? []) {
    if (!(check instanceof z.core.$ZodCheckRegex)) continue;
    const { pattern } = check._zod.def;
    const rule = `self.matches(${celPattern(pattern)})`;
    // A schema with a new description comes with the rules of the original.
    if (rules.some((each) => each.rule === rule)) continue;
    rules.push(encodeRule({ rule, message: messageOf(check, pattern) }));
  }
  if (rules.length > 0) json["x-kubernetes-validations"] = rules;
}

function readRules(json: z.core.JSONSchema.BaseSchema): Record<string, string>[] {
  return z.array(z.record(z.string(), z.string())).parse(json["x-kubernetes-validations"] ?? []);
}

/** Zod's message for a text that does not match the pattern. */
function messageOf(check: z.core.$ZodCheckRegex, pattern: RegExp): string {
  const wrong = ["", "\0", "..\0", "1000000"].find((text) => !pattern.test(text));
  const message = wrong === undefined ? undefined : z.string().check(check).safeParse(wrong).error?.issues[0]?.message;
  if (message === undefined) throw new Error(`No text is known that ${pattern.source} does not match.`);
  return message;
}

/** A record over known words is an object with those fields. */
function spreadRecord(schema: z.core.$ZodRecord, json: z.core.JSONSchema.BaseSchema): void {
  const { keyType, valueType } = schema._zod.def;
  if (!(keyType instanceof z.core.$ZodEnum)) throw new Error("A record needs keys that are known.");
  const { additionalProperties } = json;
  const words = Object.values(keyType._zod.def.entries).map(String);
  if (typeof additionalProperties === "object") {
    const value = { ...additionalProperties };
    // Zod visits it only after the record.
    if (valueType instanceof z.core.$ZodString) convertPatterns(valueType, value);
    json.properties = Object.fromEntries(words.map((word) => [word, { ...value, description: `Value sent for ${word}.` }]));
  }
  delete json.additionalProperties;
}

const nodeSchema = z.looseObject({
  type: z.string(),
  properties: z.record(z.string(), z.looseObject({ description: z.string().optional() })).optional(),
  items: z.looseObject({}).optional(),
  minimum: z.number().optional(),
  exclusiveMinimum: z.boolean().optional(),
});

function structural(json: unknown, path: string): StructuralSchema {
  const node = nodeSchema.parse(json);
  const unknown = Object.keys(node).filter((keyword) => !KEYWORDS.some((known) => known === keyword) && !IMPLIED.has(keyword));
  if (unknown.length > 0 || node.allOf !== undefined)
    throw new Error(`${path}: Kubernetes knows no ${unknown.join(", ") || "allOf"}.`);

  const bounded = node.type === "integer" ? { ...node, ...integer(node) } : node;
  const schema: StructuralSchema = Object.fromEntries(
    KEYWORDS.flatMap((keyword) => (bounded[keyword] === undefined ? [] : [[keyword, bounded[keyword]]])),
  );
  // Written into every object, it would carry no information.
  if (isEmpty(schema.default)) delete schema.default;
  if (node.items !== undefined) schema.items = structural(node.items, `${path}[]`);
  if (node.properties !== undefined)
    schema.properties = Object.fromEntries(
      Object.entries(node.properties).map(([name, property]) => {
        if (property.description === undefined) throw new Error(`${path}.${name} has no description.`);
        return [name, structural(property, `${path}.${name}`)];
      }),
    );
  return schema;
}

/** Zod writes "above 0" where Kubernetes writes "from 1". */
function integer({ minimum, exclusiveMinimum }: z.infer<typeof nodeSchema>): StructuralSchema {
  return { format: "int64", minimum: exclusiveMinimum === true && minimum !== undefined ? minimum + 1 : minimum };
}

function isEmpty(value: unknown): boolean {
  return typeof value === "object" && value !== null && Object.keys(value).length === 0;
}
