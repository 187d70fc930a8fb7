import { createAddressSet, type AddressSet } from "../../runtime/ip-network.ts";
import { clientAddress, isTrustedHop, type TrustedProxies } from "../../runtime/trusted-proxies.ts";
import type { WorldKey } from "../world/world.ts";

/** Whether a request comes from an address to which its key is bound (docs/decisions/0074). */
export interface AddressCheck {
  /** @param headers as Envoy passes them on: it has appended its peer to `x-forwarded-for`. */
  allows(key: WorldKey, headers: ReadonlyMap<string, string>): boolean;
}

export function createAddressCheck(proxies: TrustedProxies): AddressCheck {
  const isTrusted = isTrustedHop(proxies);
  /** Of keys that are used: the world keeps one object for each of them, and makes another when the key changes. */
  const sets = new WeakMap<WorldKey, AddressSet>();

  function setOf(key: WorldKey): AddressSet {
    const known = sets.get(key);
    if (known !== undefined) return known;
    const set = createAddressSet(key.allowedAddresses ?? []);
    sets.set(key, set);
    return set;
  }

  return {
    allows: (key, headers) =>
      key.allowedAddresses === null || setOf(key).has(clientAddress(headers.get("x-forwarded-for") ?? "", isTrusted)),
  };
}
