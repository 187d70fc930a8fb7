import type { ProviderKeys } from "../../contract/provider-key.ts";
import { byLength, type Fingerprint } from "../../runtime/credential-fingerprint.ts";
import { createRecentMap } from "./recent-map.ts";

/** What the redactor looks up: hashes by the length of the hashed text. */
export type Fingerprints = ReadonlyMap<number, ReadonlySet<string>>;

/**
 * Fingerprints of the credentials that model servers get, or got lately. An account's own keys count in its own answers alone: what
 * it enters, a common word or thousands of keys, changes nobody else's.
 */
export interface KnownCredentials {
  /** The gateway's. */
  learn(fingerprints: readonly Fingerprint[]): void;
  /** Cheap for keys that are known: an account changes with each of its settlements, its keys seldom. */
  learnKeys(accountId: string, keys: ProviderKeys): void;
  /** That may be repeated in this account's answers; the gateway's alone if it is not known. */
  of(accountId: string | undefined): Fingerprints;
}

interface OwnCredentials {
  seen: Map<string, Fingerprint>;
  /** With the gateway's, as these were; undefined before it is asked for. */
  whole: { all: Fingerprints; gateways: Fingerprints } | undefined;
}

const MAX_FINGERPRINTS = 10_000;
const MAX_OF_AN_ACCOUNT = 1_000;
/** More than have room for keys (docs/provider-keys.md). */
const MAX_ACCOUNTS = 4_096;

export function createKnownCredentials(): KnownCredentials {
  const seen = new Map<string, Fingerprint>();
  let gateways: Fingerprints = new Map();
  const owners = createRecentMap<OwnCredentials>(MAX_ACCOUNTS);

  return {
    learn(fingerprints) {
      remember(seen, fingerprints, MAX_FINGERPRINTS);
      gateways = byLength(seen.values());
    },
    learnKeys(accountId, keys) {
      const own = owners.get(accountId) ?? { seen: new Map<string, Fingerprint>(), whole: undefined };
      const news = keys.flatMap(({ fingerprints }) => fingerprints).filter(({ hash }) => !own.seen.has(hash));
      if (news.length === 0) return;
      remember(own.seen, news, MAX_OF_AN_ACCOUNT);
      owners.set(accountId, { seen: own.seen, whole: undefined });
    },
    of(accountId) {
      const own = accountId === undefined ? undefined : owners.get(accountId);
      if (own === undefined) return gateways;
      if (own.whole?.gateways !== gateways) own.whole = { all: byLength([...seen.values(), ...own.seen.values()]), gateways };
      return own.whole.all;
    },
  };
}

/** A credential that was replaced is still sent for a moment, and may come back later still. */
function remember(seen: Map<string, Fingerprint>, fingerprints: readonly Fingerprint[], most: number): void {
  for (const fingerprint of fingerprints) {
    seen.delete(fingerprint.hash);
    seen.set(fingerprint.hash, fingerprint);
  }
  for (const hash of seen.keys()) {
    if (seen.size <= most) break;
    seen.delete(hash);
  }
}
