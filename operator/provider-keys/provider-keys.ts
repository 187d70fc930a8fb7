import { aboutProviderKey, publishSealing } from "../../ledger/provider-keys/sealing.ts";
import {
  noteServed,
  readSealedKeys,
  reseal,
  type SealedProviderKey,
  type ServedProviderKey,
} from "../../ledger/provider-keys/served-keys.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { sealTo, type BoxKey } from "../../runtime/sealed-box.ts";
import type { OperatorEvents } from "../events.ts";
import { createKeyOpener, type OpenedProviderKey } from "./open-keys.ts";

export interface ProviderKeyConfig {
  /** Private keys; the first one is what new values are sealed to, the others open what was sealed to them. Empty: none are taken. */
  boxKeys: readonly BoxKey[];
  /** How many clusters of Envoy all keys together may take. */
  maxClusters: number;
}

/** Accounts' own keys for providers, between Postgres and a rollout. */
export interface ProviderKeys {
  /** The keys, or while the database cannot be read, those that were read last. */
  read(): Promise<readonly OpenedProviderKey[]>;
  /** Envoys have them. @throws if the database cannot be written; nothing is lost by reporting again. */
  report(keys: readonly ServedProviderKey[]): Promise<void>;
  stop(): Promise<void>;
}

export interface ProviderKeysDeps {
  config: ProviderKeyConfig;
  database: Database;
  pepper: Buffer;
  events: Pick<OperatorEvents, "providerKeysUnreadable" | "providerKeysReadable" | "providerKeysServed">;
  /** Whether this process writes. */
  isLeader(): boolean;
  onChange(): void;
}

/** Of one reading: the next one continues. */
const MAX_RESEALED = 100;

export function createProviderKeys({ config, database, pepper, events, isLeader, onChange }: ProviderKeysDeps): ProviderKeys {
  const { boxKeys, maxClusters } = config;
  const [current] = boxKeys;
  const opener = createKeyOpener({ boxKeys, pepper });
  const stopping = new AbortController();
  const listening = database.listen({
    channel: "provider_key_changed",
    signal: stopping.signal,
    onNotice: onChange,
    onReconnected: onChange,
  });
  let last: readonly OpenedProviderKey[] = [];

  async function readNews(): Promise<readonly OpenedProviderKey[]> {
    if (isLeader()) {
      const sealing = current === undefined ? null : { keyId: current.id, publicKey: current.publicKey, maxClusters };
      await publishSealing(database, sealing, pepper);
    }
    const sealed = await readSealedKeys(database);
    const opened = opener.open(sealed);
    if (isLeader()) await sealAnew(sealed, opened);
    return opened;
  }

  /** To the newest key, so that older ones can be given up. */
  async function sealAnew(sealed: readonly SealedProviderKey[], opened: readonly OpenedProviderKey[]): Promise<void> {
    if (current === undefined) return;
    const stale = new Set(sealed.filter(({ sealingKeyId }) => sealingKeyId !== current.id).map(({ id }) => id));
    for (const key of opened.filter(({ id, value }) => value !== null && stale.has(id)).slice(0, MAX_RESEALED)) {
      const value = key.value ?? "";
      const again = sealTo(current.publicKey, value, aboutProviderKey(key, pepper));
      await reseal(database, { id: key.id, version: key.version, sealingKeyId: current.id, sealed: again });
    }
  }

  return {
    async read() {
      try {
        last = await readNews();
        events.providerKeysReadable();
      } catch (error) {
        events.providerKeysUnreadable({ error });
      }
      return last;
    },
    async report(keys) {
      events.providerKeysServed(keys);
      if (isLeader()) await noteServed(database, keys);
    },
    async stop() {
      stopping.abort();
      await listening;
    },
  };
}
