import { mintApiKey } from "../../../ledger/keys/keys.ts";
import type { NewResourceKey } from "../../../ledger/keys/resource-keys.ts";
import { PEPPER } from "./ledger.ts";

type Changes = Omit<Partial<NewResourceKey>, "settings"> & { settings?: Partial<NewResourceKey["settings"]> };

/** The first key of the ApiKey `client` in the namespace team-a: without restrictions, unless the changes have some. */
export function resourceKey({ settings, ...changes }: Changes = {}): NewResourceKey {
  const { publicId, secret } = mintApiKey((size) => Buffer.alloc(size, 7));
  return {
    uid: "11111111-1111-4111-8111-111111111111",
    origin: "here",
    namespace: "team-a",
    resourceName: "client",
    accountId: "team-a",
    publicId,
    secret,
    pepper: PEPPER,
    rotation: 0,
    settings: {
      name: "client",
      isDisabled: false,
      expiresAt: null,
      allowedModels: null,
      limits: {},
      allowedAddresses: null,
      allowedOrigins: null,
      promptLogDays: null,
      ...settings,
    },
    ...changes,
  };
}
