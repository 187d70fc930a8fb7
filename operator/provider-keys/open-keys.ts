import { providerKeyFingerprints } from "../../ledger/provider-keys/fingerprints.ts";
import { aboutProviderKey } from "../../ledger/provider-keys/sealing.ts";
import type { SealedProviderKey } from "../../ledger/provider-keys/served-keys.ts";
import type { Fingerprint } from "../../runtime/credential-fingerprint.ts";
import { openSealed, type BoxKey } from "../../runtime/sealed-box.ts";

/** A key as Envoy will get it. Never to be logged. */
export interface OpenedProviderKey extends Omit<SealedProviderKey, "sealed" | "sealingKeyId"> {
  /** Null: it cannot be decrypted, or is no header's value. */
  value: string | null;
  fingerprints: readonly Fingerprint[];
}

export interface KeyOpener {
  open(keys: readonly SealedProviderKey[]): OpenedProviderKey[];
}

export interface KeyOpenerDeps {
  /** Private keys; the first one is what new values are sealed to. */
  boxKeys: readonly BoxKey[];
  pepper: Buffer;
}

/** Decrypts each value once. */
export function createKeyOpener({ boxKeys, pepper }: KeyOpenerDeps): KeyOpener {
  let known: ReadonlyMap<string, { sealed: Buffer; opened: OpenedProviderKey }> = new Map();

  function open({ sealed, sealingKeyId, ...key }: SealedProviderKey): OpenedProviderKey {
    const boxKey = boxKeys.find(({ id }) => id === sealingKeyId);
    const value = boxKey === undefined ? undefined : openSealed(boxKey, sealed, aboutProviderKey(key, pepper));
    if (value === undefined || !/^[\x21-\x7e]+$/.test(value)) return { ...key, value: null, fingerprints: [] };
    return { ...key, value, fingerprints: providerKeyFingerprints(value, pepper) };
  }

  return {
    open(keys) {
      const opened = keys.map((key) => {
        const before = known.get(key.id);
        const isSame = before !== undefined && before.opened.version === key.version && before.sealed.equals(key.sealed);
        return { sealed: key.sealed, opened: isSame ? before.opened : open(key) };
      });
      known = new Map(opened.map((each) => [each.opened.id, each]));
      return opened.map((each) => each.opened);
    },
  };
}
