import { secretNamesOf, type Endpoint } from "./xds/endpoint.ts";
import type { SecretContent } from "./xds/secret.ts";
import type { SnapshotInput } from "./xds/snapshot.ts";

interface Retired {
  endpoint: Endpoint;
  secrets: ReadonlyMap<string, SecretContent>;
  untilMs: number;
}

/** Something that is served, and what Envoy needs for it. */
interface InEnvoy {
  clusters: ReadonlyMap<string, Endpoint>;
  secrets: ReadonlyMap<string, SecretContent>;
}

interface Served {
  serving: ReadonlyMap<string, InEnvoy>;
  nowMs: number;
}

/**
 * Clusters that no Model or provider key uses any more, kept for a while: extproc learns of a new catalogue a moment after it is published, and a
 * cluster removed by then would fail requests.
 */
export interface RetiredClusters {
  /** Envoy's desired clusters: the planned ones, those still in the catalogue, and those that just left it. */
  addTo(planned: SnapshotInput, served: Served): SnapshotInput;
  retire(change: { before: ReadonlyMap<string, InEnvoy>; after: ReadonlyMap<string, InEnvoy>; nowMs: number }): void;
  /** When the next one may be removed; null if none is waiting. */
  nextMs(): number | null;
}

export function createRetiredClusters({ graceMs }: { graceMs: number }): RetiredClusters {
  const retired = new Map<string, Retired>();

  return {
    addTo(planned, { serving, nowMs }) {
      for (const [name, { untilMs }] of retired) if (untilMs <= nowMs) retired.delete(name);
      const older = [...retired.values(), ...serving.values()];
      const clusters = new Map<string, Endpoint>([
        ...[...retired].map(([name, { endpoint }]) => [name, endpoint] as const),
        ...[...serving.values()].flatMap(({ clusters }) => [...clusters]),
        ...planned.clusters,
      ]);
      const secrets = new Map([...older.flatMap(({ secrets }) => [...secrets]), ...planned.secrets]);
      return { clusters, secrets: onlyUsed(secrets, clusters) };
    },
    retire({ before, after, nowMs }) {
      const kept = new Set([...after.values()].flatMap(({ clusters }) => [...clusters.keys()]));
      for (const { clusters, secrets } of before.values()) {
        for (const [name, endpoint] of clusters) {
          if (!kept.has(name)) retired.set(name, { endpoint, secrets, untilMs: nowMs + graceMs });
        }
      }
      for (const name of kept) retired.delete(name);
    },
    nextMs() {
      const times = [...retired.values()].map(({ untilMs }) => untilMs);
      return times.length === 0 ? null : Math.min(...times);
    },
  };
}

/** Envoy requests only the secrets that its clusters use; it would wait for any other endlessly. */
function onlyUsed(secrets: ReadonlyMap<string, SecretContent>, clusters: ReadonlyMap<string, Endpoint>) {
  const used = new Set([...clusters.values()].flatMap(secretNamesOf));
  return new Map([...secrets].filter(([name]) => used.has(name)));
}
