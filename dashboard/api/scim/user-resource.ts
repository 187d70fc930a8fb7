import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import type { ProvisionedUser, UserProfile } from "../../../ledger/provisioning/users.ts";

export const USER_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:User";

/** Roles that an identity provider may give. Owners are made by owners, in the dashboard. */
export const ROLES = ["member", "viewer"] as const;
type GivenRole = (typeof ROLES)[number];

/** What a provider may set. Absent fields are left as they are. */
export interface UserChange extends Partial<UserProfile> {
  role?: GivenRole;
  isActive?: boolean;
}

const MAX_CHARACTERS = 254;
const text = z
  .string("must be a string")
  .max(MAX_CHARACTERS, `must have at most ${MAX_CHARACTERS} characters`)
  .refine((value) => !value.includes("\0"), "must not contain NUL");
/** Some providers send an empty text where there is none. */
const optionalText = text.nullish().transform((value) => (value === "" ? null : value));
/** Some providers send `"True"`. */
const truth = z.union(
  [
    z.boolean(),
    z
      .string()
      .toLowerCase()
      .pipe(z.enum(["true", "false"]))
      .transform((value) => value === "true"),
  ],
  "must be true or false",
);

const valueSchema = z.object({ value: text, primary: truth.optional() }, "must be an object with a value");
const values = z.array(valueSchema, "must be a list").max(20, "must have at most 20 entries").nullish();

/** Attributes that are kept. All others of the schema are ignored, as RFC 7644 allows. */
const userSchema = z.object(
  {
    userName: text.optional(),
    externalId: optionalText,
    displayName: optionalText,
    name: z.object({ givenName: optionalText, familyName: optionalText }, "must be an object").nullish(),
    active: truth.optional(),
    emails: values,
    roles: values,
  },
  "must be an object",
);

/**
 * Reads a user, or the part of one that a PATCH without a path adds.
 * @throws GatewayError `invalid_request` with the attribute at fault.
 */
export function readUser(body: unknown): UserChange {
  const { data, error } = userSchema.safeParse(withKnownNames(body));
  if (error !== undefined) {
    const [issue] = error.issues;
    throw invalidValue(issue?.path.join(".") ?? "", issue?.message ?? "is not valid");
  }
  const { userName, externalId, displayName, name, active, emails, roles } = data;
  const email = primaryOf(emails ?? []);
  const role = primaryOf(roles ?? []);
  return {
    ...(userName !== undefined && { userName: readName(userName) }),
    ...(externalId !== undefined && { externalId }),
    ...(displayName !== undefined && { displayName }),
    ...(name?.givenName !== undefined && { givenName: name.givenName }),
    ...(name?.familyName !== undefined && { familyName: name.familyName }),
    ...(active !== undefined && { isActive: active }),
    ...(email !== undefined && { email: readEmail(email) }),
    ...(role !== undefined && { role: readRole(role) }),
  };
}

/** Names of attributes match whatever their case (RFC 7643, 2.1). */
function withKnownNames(body: unknown): unknown {
  if (typeof body !== "object" || body === null || Array.isArray(body)) return body;
  const names = new Map(Object.keys(userSchema.shape).map((name) => [name.toLowerCase(), name]));
  return Object.fromEntries(Object.entries(body).map(([name, value]) => [names.get(name.toLowerCase()) ?? name, value]));
}

function primaryOf(values: readonly z.infer<typeof valueSchema>[]): string | undefined {
  return (values.find(({ primary }) => primary === true) ?? values[0])?.value;
}

function readName(userName: string): string {
  if (userName.trim() === "") throw invalidValue("userName", "must not be empty");
  return userName.trim();
}

export function readEmail(email: string): string {
  if (!z.email().safeParse(email.trim()).success) throw invalidValue("emails.value", "must be an email address");
  return email.trim();
}

function readRole(role: string): GivenRole {
  const known = ROLES.find((each) => each === role.toLowerCase());
  if (known === undefined)
    throw invalidValue("roles.value", "must be member or viewer; to make someone an owner, use the dashboard");
  return known;
}

export function invalidValue(field: string, claim: string): GatewayError {
  return new GatewayError("invalid_request", field === "" ? `The body ${claim}.` : `${field} ${claim}.`, { field });
}

/** As RFC 7643 represents it. */
export function showUser(user: ProvisionedUser, baseUrl: string) {
  const { id, userName, externalId, displayName, givenName, familyName, email, role, isActive, createdAt, changedAt } = user;
  return {
    schemas: [USER_SCHEMA],
    id,
    ...(externalId !== null && { externalId }),
    userName,
    ...(displayName !== null && { displayName }),
    ...((givenName !== null || familyName !== null) && {
      name: { ...(givenName !== null && { givenName }), ...(familyName !== null && { familyName }) },
    }),
    emails: [{ value: email, type: "work" }],
    active: isActive,
    roles: [{ value: role }],
    meta: {
      resourceType: "User",
      created: createdAt.toISOString(),
      lastModified: changedAt.toISOString(),
      location: `${baseUrl}/Users/${id}`,
    },
  };
}
