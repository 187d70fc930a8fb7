import * as z from "zod";
import { attributeOf } from "./attribute-path.ts";
import { invalidValue, readUser, type UserChange } from "./user-resource.ts";

/** Providers send a handful. */
const MAX_OPERATIONS = 100;

const patchSchema = z.object({
  Operations: z
    .array(
      z.object({
        op: z
          .string()
          .toLowerCase()
          .pipe(z.enum(["add", "replace", "remove"])),
        path: z.string().max(400).optional(),
        value: z.unknown().optional(),
      }),
    )
    .min(1)
    .max(MAX_OPERATIONS),
});

/** Of attributes that may be absent. */
const REMOVED: Readonly<Record<string, UserChange>> = {
  externalid: { externalId: null },
  displayname: { displayName: null },
  name: { givenName: null, familyName: null },
  "name.givenname": { givenName: null },
  "name.familyname": { familyName: null },
};

const REQUIRED: ReadonlySet<string> = new Set(["username", "active", "emails", "emails.value", "roles", "roles.value"]);

/**
 * What the operations of a PATCH change together (RFC 7644, 3.5.2). Attributes that are not kept are ignored.
 * @throws GatewayError `invalid_request` with the attribute at fault.
 */
export function readPatch(body: unknown): UserChange {
  const { data, error } = patchSchema.safeParse(body);
  if (error !== undefined)
    throw invalidValue("Operations", "must be a list of add, replace and remove operations, each with a value, a path or both");
  return data.Operations.reduce<UserChange>((change, { op, path, value }) => {
    const target = path === undefined ? undefined : attributeOf(path);
    if (op === "remove") {
      if (target === undefined) throw invalidValue("path", "is required to remove something");
      if (REQUIRED.has(target)) throw invalidValue(target, "is required, and can only be replaced");
      return { ...change, ...REMOVED[target] };
    }
    return { ...change, ...(target === undefined ? readUser(withPaths(value)) : readUser(valueAt(target, value))) };
  }, {});
}

/** Some providers send paths as names of members: `{"name.givenName": "Ann"}`. */
function withPaths(value: unknown): unknown {
  if (typeof value !== "object" || value === null || Array.isArray(value))
    throw invalidValue("value", "must be an object if there is no path");
  const parts = Object.entries(value).map(([name, each]) => valueAt(attributeOf(name), each));
  const names = parts.flatMap(({ name }) => (typeof name === "object" && name !== null ? Object.entries(name) : []));
  // In one step: there may be thousands.
  return Object.fromEntries([
    ...parts.flatMap((part) => Object.entries(part)),
    ...(names.length === 0 ? [] : [["name", Object.fromEntries(names)]]),
  ]);
}

/** The user that has only this. */
function valueAt(attribute: string, value: unknown): Record<string, unknown> {
  switch (attribute) {
    case "name.givenname":
      return { name: { givenName: value } };
    case "name.familyname":
      return { name: { familyName: value } };
    case "emails.value":
      return { emails: [{ value }] };
    case "roles.value":
      return { roles: [{ value }] };
    case "emails":
    case "roles":
      return { [attribute]: Array.isArray(value) ? value : [value] };
    default:
      return { [attribute]: value };
  }
}
