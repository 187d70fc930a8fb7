/** The depth to which a sample follows a recursive schema. */
const MAX_DEPTH = 8;
/** Some schemas allow, or demand, more values or characters than fit into memory. */
const MAX_VALUES = 10_000;
const MAX_CHARACTERS = 10_000;

type Schema = Readonly<Record<string, unknown>>;

/** A value that matches a JSON schema, always the same one; `{}` if the schema is empty. */
export function sampleObject(schema: unknown): object {
  const sample = sampleValue(isSchema(schema) ? schema : {}, {
    name: "value",
    root: schema,
    depth: 0,
    values: { left: MAX_VALUES },
  });
  return isSchema(sample) ? sample : {};
}

interface Position {
  /** Name of the property the value is for. */
  name: string;
  /** Where `$ref` is resolved. */
  root: unknown;
  depth: number;
  /** Of the whole sample. */
  values: { left: number };
}

function sampleValue(schema: Schema, position: Position): unknown {
  if (position.depth > MAX_DEPTH || position.values.left <= 0) return null;
  position.values.left--;
  if (typeof schema.$ref === "string") return sampleValue(resolve(schema.$ref, position.root), deeper(position));
  if (schema.const !== undefined) return schema.const;
  if (Array.isArray(schema.enum) && schema.enum.length > 0) return schema.enum[0];
  if (schema.default !== undefined) return schema.default;
  const choice = firstSchema(schema.anyOf) ?? firstSchema(schema.oneOf);
  if (choice !== undefined) return sampleValue(choice, deeper(position));
  if (Array.isArray(schema.allOf)) return sampleAll(schema.allOf.filter(isSchema), position);

  switch (typeOf(schema)) {
    case "string":
      return sampleString(schema, position.name);
    case "integer":
      return sampleNumber(schema, 1);
    case "number":
      return sampleNumber(schema, 0.5);
    case "boolean":
      return true;
    case "array":
      return sampleArray(schema, position);
    case "null":
      return null;
    default:
      return sampleProperties(schema, position);
  }
}

function sampleProperties(schema: Schema, position: Position): object {
  const properties = isSchema(schema.properties) ? schema.properties : {};
  const required = Array.isArray(schema.required) ? schema.required : Object.keys(properties);
  return Object.fromEntries(
    required
      .filter((name) => typeof name === "string")
      .map((name) => {
        const property = properties[name];
        return [name, sampleValue(isSchema(property) ? property : { type: "string" }, { ...deeper(position), name })];
      }),
  );
}

function sampleAll(parts: readonly Schema[], position: Position): object {
  return Object.assign({}, ...parts.map((part) => sampleValue(part, deeper(position))));
}

function sampleArray(schema: Schema, position: Position): unknown[] {
  const length = Math.max(Math.min(numberOr(schema.minItems, 1), position.values.left), 1);
  const items = isSchema(schema.items) ? schema.items : { type: "string" };
  return Array.from({ length }, () => sampleValue(items, deeper(position)));
}

const FORMATS: Readonly<Record<string, string>> = {
  date: "2026-01-31",
  "date-time": "2026-01-31T12:00:00Z",
  time: "12:00:00Z",
  email: "simulation@example.com",
  uri: "https://example.com/simulation",
  uuid: "01890a5d-ac96-774b-bcce-b302099a8057",
};

function sampleString(schema: Schema, name: string): string {
  if (typeof schema.format === "string" && FORMATS[schema.format] !== undefined) return FORMATS[schema.format] ?? "";
  const text = `simulated ${name}`.padEnd(Math.min(numberOr(schema.minLength, 0), MAX_CHARACTERS), ".");
  return text.slice(0, numberOr(schema.maxLength, text.length));
}

function sampleNumber(schema: Schema, step: number): number {
  const least = numberOr(schema.minimum, numberOr(schema.exclusiveMinimum, 0) + step);
  const most = numberOr(schema.maximum, numberOr(schema.exclusiveMaximum, Number.MAX_SAFE_INTEGER) - step);
  const multiple = numberOr(schema.multipleOf, step);
  return Math.min(Math.ceil(least / multiple) * multiple, most);
}

/** `#/$defs/name`; references to other documents are not followed. */
function resolve(reference: string, root: unknown): Schema {
  let found: unknown = root;
  for (const step of reference.replace(/^#\/?/, "").split("/").filter(Boolean)) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    found = isSchema(found) ? found[name] : undefined;
  }
  return isSchema(found) ? found : {};
}

function typeOf(schema: Schema): unknown {
  const type = Array.isArray(schema.type) ? schema.type.find((each) => each !== "null") : schema.type;
  return type ?? (schema.items === undefined ? "object" : "array");
}

function firstSchema(schemas: unknown): Schema | undefined {
  return Array.isArray(schemas) ? schemas.find((schema) => isSchema(schema) && schema.type !== "null") : undefined;
}

function deeper(position: Position): Position {
  return { ...position, depth: position.depth + 1 };
}

function numberOr(value: unknown, otherwise: number): number {
  return typeof value === "number" ? value : otherwise;
}

function isSchema(value: unknown): value is Schema {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
