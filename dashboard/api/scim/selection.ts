import { attributeOf } from "./attribute-path.ts";

/** Which attributes an answer has: only these, or all but those. Names may be of parts, such as `name.givenName`. */
export interface Selection {
  attributes?: readonly string[] | undefined;
  excludedAttributes?: readonly string[] | undefined;
}

/** Are there whatever was selected (RFC 7643, 7: "always"). */
const ALWAYS: ReadonlySet<string> = new Set(["schemas", "id"]);

/** @returns the part of a resource that was selected. */
export function select(resource: object, { attributes, excludedAttributes }: Selection): object {
  if (attributes !== undefined) {
    const wanted = attributes.map(attributeOf);
    return filterMembers(
      resource,
      (path) => ALWAYS.has(path) || wanted.some((each) => isWithin(path, each) || isWithin(each, path)),
    );
  }
  if (excludedAttributes === undefined) return resource;
  const unwanted = excludedAttributes.map(attributeOf);
  return filterMembers(resource, (path) => ALWAYS.has(path) || !unwanted.some((each) => isWithin(path, each)));
}

/** Whether a path is an attribute, or a part of it. */
function isWithin(path: string, attribute: string): boolean {
  return path === attribute || path.startsWith(`${attribute}.`);
}

function filterMembers(value: object, isKept: (path: string) => boolean, prefix = ""): object {
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, member]: [string, unknown]) => {
      const path = prefix + name.toLowerCase();
      return isKept(path) ? [[name, filterValue(member, isKept, path)]] : [];
    }),
  );
}

function filterValue(value: unknown, isKept: (path: string) => boolean, path: string): unknown {
  if (Array.isArray(value)) return value.map((each: unknown) => filterValue(each, isKept, path));
  return typeof value === "object" && value !== null ? filterMembers(value, isKept, `${path}.`) : value;
}
