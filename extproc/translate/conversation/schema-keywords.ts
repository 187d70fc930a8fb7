/** Keywords whose value holds schemas by name, and those whose value is a schema or a list of schemas. */
const NAMED: ReadonlySet<string | number> = new Set(["properties", "$defs", "definitions"]);
const NESTED: ReadonlySet<string | number> = new Set(["items", "prefixItems", "anyOf", "oneOf", "allOf"]);

/**
 * What a value below a schema or a list of schemas (`isSchema`), or below schemas by name, holds: true for a schema or a list of
 * them, false for schemas by name, null for anything else, such as the values of an `enum`.
 */
export function holdsSchema(isSchema: boolean, step: string | number): boolean | null {
  const isNamed = isSchema && NAMED.has(step);
  const isInside = isSchema ? isNamed || NESTED.has(step) || typeof step === "number" : typeof step === "string";
  return isInside ? !isNamed : null;
}
