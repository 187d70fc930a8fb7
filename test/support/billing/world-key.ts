import type { WorldKey } from "../../../extproc/world/key-table.ts";

/** A key of the account acme as extproc knows it: without restrictions, unless the changes have some. */
export function worldKey(changes: Partial<WorldKey> = {}): WorldKey {
  return {
    publicId: "key",
    accountId: "acme",
    secretHash: Buffer.alloc(32),
    previousSecret: null,
    isDisabled: false,
    isUnreadable: false,
    expiresAt: null,
    allowedModels: null,
    allowedAddresses: null,
    allowedOrigins: null,
    hasPromptLog: false,
    limits: {},
    ...changes,
  };
}
