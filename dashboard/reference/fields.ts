import type { Reference, Schema } from "./document.ts";

/** A member of a JSON object, or of an object within it. */
export interface Field {
  /** With the names of the enclosing objects: "data[].price.input". */
  name: string;
  type: string;
  isRequired: boolean;
  description: string | undefined;
}

/** The depth to which nested objects are shown; deeper ones are named by their type only. */
const MAX_DEPTH = 4;

export function fieldsOf(reference: Reference, schema: Schema, prefix = "", depth = 0): Field[] {
  if (depth >= MAX_DEPTH) return [];
  const inner = itemsOf(reference, schema);
  if (inner !== undefined) return fieldsOf(reference, inner, `${prefix}[]`, depth);
  const parts = [...(schema.allOf ?? []), ...(schema.oneOf ?? []), ...(schema.anyOf ?? [])].map((each) =>
    reference.resolve(each),
  );
  const own = Object.entries(schema.properties ?? {}).flatMap(([name, value]) => {
    const type = reference.resolve(value);
    const path = prefix === "" ? name : `${prefix}.${name}`;
    const field = {
      name: path,
      type: typeOf(reference, type),
      isRequired: schema.required?.includes(name) === true,
      description: type.description,
    };
    return [field, ...fieldsOf(reference, type, path, depth + 1)];
  });
  // If alternatives share a member, the first one's.
  const all = [...own, ...parts.flatMap((part) => fieldsOf(reference, part, prefix, depth))];
  return all.filter((field, index) => all.findIndex(({ name }) => name === field.name) === index);
}

function itemsOf(reference: Reference, { items }: Schema): Schema | undefined {
  return items === undefined ? undefined : reference.resolve(items);
}

/** "string", "array of objects", "string or null", "one of “a”, “b”". */
export function typeOf(reference: Reference, schema: Schema): string {
  if (schema.const !== undefined) return JSON.stringify(schema.const);
  if (schema.enum !== undefined) return schema.enum.map((each) => JSON.stringify(each)).join(" or ");
  const alternatives = schema.oneOf ?? schema.anyOf;
  if (alternatives !== undefined)
    return [...new Set(alternatives.map((each) => typeOf(reference, reference.resolve(each))))].join(" or ");
  const items = itemsOf(reference, schema);
  if (items !== undefined) return `array of ${typeOf(reference, items)}`;
  const types = [schema.type ?? (schema.properties === undefined ? "any" : "object")].flat();
  return `${types.join(" or ")}${schema.format === undefined ? "" : ` (${schema.format})`}`;
}
