import { READY_COLUMNS, type ResourceDefinition } from "../crd/definition.ts";
import { apiKeySpecSchema } from "./resource.ts";
import { apiKeyStatusSchema } from "./status-resource.ts";

/** What crds/apikeys.yaml is made from. */
export const API_KEY_DEFINITION: ResourceDefinition = {
  kind: "ApiKey",
  plural: "apikeys",
  shortName: "ak",
  description: "An ApiKey is a key for the gateway's clients: its value is made once, into a Secret of the same namespace.",
  columns: [
    { name: "Account", type: "string", jsonPath: ".spec.account", description: "Who pays." },
    { name: "Key", type: "string", jsonPath: ".status.keyPrefix", description: "The key, masked." },
    { name: "Spent", type: "string", jsonPath: ".status.spend.amount", description: "USD in the limit's window." },
    { name: "Limit", type: "string", jsonPath: ".spec.spendLimit.amount", description: "USD in its window.", priority: 1 },
    { name: "Secret", type: "string", jsonPath: ".status.secretName", description: "Where the value is.", priority: 1 },
    // A date in the future would show as <invalid>.
    { name: "Expires", type: "string", jsonPath: ".spec.expiresAt", description: "When it ends." },
    ...READY_COLUMNS,
  ],
  selectableFields: [".spec.account"],
  spec: apiKeySpecSchema,
  status: apiKeyStatusSchema,
};
