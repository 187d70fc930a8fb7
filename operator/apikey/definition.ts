import { READY_COLUMNS, type ResourceDefinition } from "../crd/definition.ts";
import { apiKeySpecSchema } from "./resource.ts";
import { apiKeyStatusSchema } from "./status-resource.ts";

/** The source of crds/apikeys.yaml. */
export const API_KEY_DEFINITION: ResourceDefinition = {
  kind: "ApiKey",
  plural: "apikeys",
  shortName: "ak",
  description:
    "An ApiKey is a key for clients of the gateway. The operator creates its value once, in a Secret of the same namespace.",
  columns: [
    { name: "Account", type: "string", jsonPath: ".spec.account", description: "Account that pays." },
    { name: "Key", type: "string", jsonPath: ".status.keyPrefix", description: "The key, masked." },
    { name: "Spent", type: "string", jsonPath: ".status.spend.amount", description: "USD in the limit's window." },
    { name: "Limit", type: "string", jsonPath: ".spec.spendLimit.amount", description: "USD in its window.", priority: 1 },
    { name: "Secret", type: "string", jsonPath: ".status.secretName", description: "Secret with the value.", priority: 1 },
    // A date in the future would show as <invalid>.
    { name: "Expires", type: "string", jsonPath: ".spec.expiresAt", description: "When it expires." },
    ...READY_COLUMNS,
  ],
  selectableFields: [".spec.account"],
  spec: apiKeySpecSchema,
  status: apiKeyStatusSchema,
};
