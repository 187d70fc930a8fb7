import { MAX_PAGE } from "./query.ts";
import { ROLES, USER_SCHEMA } from "./user-resource.ts";

const CONFIG_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ServiceProviderConfig";
const RESOURCE_TYPE_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:ResourceType";
const SCHEMA_SCHEMA = "urn:ietf:params:scim:schemas:core:2.0:Schema";

/** What of SCIM is supported (RFC 7643, 5). */
export function serviceProviderConfig(baseUrl: string) {
  const unsupported = { supported: false };
  return {
    schemas: [CONFIG_SCHEMA],
    patch: { supported: true },
    bulk: { supported: false, maxOperations: 0, maxPayloadSize: 0 },
    filter: { supported: true, maxResults: MAX_PAGE },
    changePassword: unsupported,
    sort: unsupported,
    etag: unsupported,
    authenticationSchemes: [
      {
        type: "oauthbearertoken",
        name: "Management token",
        description: "A management token with the owner role.",
        primary: true,
      },
    ],
    meta: { resourceType: "ServiceProviderConfig", location: `${baseUrl}/ServiceProviderConfig` },
  };
}

export function userType(baseUrl: string) {
  return {
    schemas: [RESOURCE_TYPE_SCHEMA],
    id: "User",
    name: "User",
    endpoint: "/Users",
    description: "A member of the account, or someone invited to it",
    schema: USER_SCHEMA,
    schemaExtensions: [],
    meta: { resourceType: "ResourceType", location: `${baseUrl}/ResourceTypes/User` },
  };
}

interface AttributeOptions {
  type?: "string" | "boolean" | "complex";
  isRequired?: boolean;
  isUnique?: boolean;
  isList?: boolean;
  isCaseExact?: boolean;
  values?: readonly string[];
  subAttributes?: readonly object[];
}

export function userSchemaResource(baseUrl: string) {
  return {
    schemas: [SCHEMA_SCHEMA],
    id: USER_SCHEMA,
    name: "User",
    description: "A member of the account, or someone invited to it",
    attributes: [
      attribute("userName", "Unique in the account, ignoring case", { isRequired: true, isUnique: true }),
      attribute("externalId", "The identity provider's own id", { isCaseExact: true }),
      attribute("displayName", "A name that the identity provider keeps here; members choose their own"),
      attribute("name", "The same, in parts", {
        type: "complex",
        subAttributes: [attribute("givenName", "First name"), attribute("familyName", "Last name")],
      }),
      attribute("active", "Whether they are in the account or invited to it", { type: "boolean", isRequired: true }),
      attribute("emails", "Where the invitation goes; if absent, userName must be an address", {
        type: "complex",
        isList: true,
        isRequired: true,
        subAttributes: [
          attribute("value", "An email address", { isRequired: true }),
          attribute("type", "Always work", { values: ["work"] }),
        ],
      }),
      attribute("roles", "member (the default) or viewer", {
        type: "complex",
        isRequired: true,
        isList: true,
        subAttributes: [attribute("value", "The role", { isRequired: true, values: ROLES })],
      }),
    ],
    meta: { resourceType: "Schema", location: `${baseUrl}/Schemas/${USER_SCHEMA}` },
  };
}

function attribute(name: string, description: string, options: AttributeOptions = {}) {
  const {
    type = "string",
    isRequired = false,
    isUnique = false,
    isList = false,
    isCaseExact = false,
    values,
    subAttributes,
  } = options;
  return {
    name,
    type,
    description,
    multiValued: isList,
    required: isRequired,
    mutability: "readWrite",
    returned: "default",
    uniqueness: isUnique ? "server" : "none",
    ...(type === "string" && { caseExact: isCaseExact }),
    ...(values !== undefined && { canonicalValues: values }),
    ...(subAttributes !== undefined && { subAttributes }),
  };
}
