import * as z from "zod";

interface Schema {
  type?: string | string[] | undefined;
  description?: string | undefined;
  enum?: unknown[] | undefined;
  deprecated?: boolean | undefined;
  properties?: Record<string, Schema> | undefined;
  $ref?: string | undefined;
}

const schemaSchema: z.ZodType<Schema> = z.object({
  type: z.union([z.string(), z.array(z.string())]).optional(),
  description: z.string().optional(),
  enum: z.array(z.unknown()).optional(),
  deprecated: z.boolean().optional(),
  $ref: z.string().optional(),
  get properties() {
    return z.record(z.string(), schemaSchema).optional();
  },
});

/** Structures that Kubernetes defines: one row for each. */
const RESOURCES = "#/definitions/resources";
const valuesSchema = z.record(z.string(), z.unknown());

/**
 * The table of the chart's values: a row for each that is not deprecated, in the order of values.schema.json.
 * @param schema content of values.schema.json.
 * @param values content of values.yaml, where the defaults are.
 */
export function valuesTable(schema: unknown, values: unknown): string {
  const { definitions } = z.object({ definitions: z.record(z.string(), schemaSchema) }).parse(schema);
  const root = schemaSchema.parse(schema);
  const rows = rowsOf({ name: "", schema: root, value: values, definitions });
  return ["| Value | Default | Meaning |", "|---|---|---|", ...rows].join("\n");
}

const TABLE = /(<!-- values: begin -->\n)[\s\S]*(<!-- values: end -->)/;

/** A page with its table of values replaced. */
export function withTable(page: string, table: string): string {
  return page.replace(TABLE, (_whole, begin: string, end: string) => `${begin}${table}\n${end}`);
}

interface ValueNode {
  name: string;
  schema: Schema;
  value: unknown;
  definitions: Record<string, Schema>;
}

function rowsOf({ name, schema: given, value, definitions }: ValueNode): string[] {
  const target = given.$ref === undefined ? undefined : definitions[given.$ref.replace("#/definitions/", "")];
  const schema = { ...target, ...given };
  if (schema.deprecated === true) return [];
  if (schema.properties === undefined || given.$ref === RESOURCES) return [row(name, schema, value)];
  const content = valuesSchema.safeParse(value).data ?? {};
  return Object.entries(schema.properties).flatMap(([key, property]) =>
    rowsOf({ name: name === "" ? key : `${name}.${key}`, schema: property, value: content[key], definitions }),
  );
}

function row(name: string, schema: Schema, value: unknown): string {
  const choices =
    schema.enum === undefined ? "" : ` One of ${schema.enum.map((each) => `\`${JSON.stringify(each)}\``).join(", ")}.`;
  const meaning = `${schema.description ?? ""}${choices}`.replaceAll("|", "\\|");
  return `| \`${name}\` | ${value === undefined ? "" : `\`${JSON.stringify(value)}\``} | ${meaning} |`;
}
