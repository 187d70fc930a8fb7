import { expect, test } from "vitest";
import type { OfferedServer } from "../../../../operator/provider-keys/offered-server.ts";
import type { OpenedProviderKey } from "../../../../operator/provider-keys/open-keys.ts";
import { planProviderKeys } from "../../../../operator/provider-keys/plan.ts";

const ORIGIN = "https://api.example.com";

function offer(endpoint: string, changes: Partial<OfferedServer> = {}): OfferedServer {
  const server = {
    host: "api.example.com",
    port: 443,
    tls: { serverName: "api.example.com", rootsSecret: "roots/system" },
    credential: null,
    guard: null,
    connectTimeoutMs: 5_000,
  };
  return { provider: "example", origin: ORIGIN, endpoint, server, header: "authorization", form: "bearer", ...changes };
}

function key(id: string, changes: Partial<OpenedProviderKey> = {}): OpenedProviderKey {
  return {
    id,
    accountId: `${id}s`,
    provider: "example",
    origin: ORIGIN,
    version: 1,
    value: `value-of-${id}`,
    fingerprints: [],
    ...changes,
  };
}

const plan = (input: Partial<Parameters<typeof planProviderKeys>[0]>) => {
  const planned = planProviderKeys({
    offered: [offer("e1")],
    keys: [key("ann")],
    maxClusters: 10,
    rejected: new Map(),
    ...input,
  });
  return {
    clusters: [...planned.clusters.keys()],
    secrets: Object.fromEntries(
      [...planned.secrets].map(([name, content]) => [name, "headerValue" in content && content.headerValue]),
    ),
    states: planned.keys.map(({ state }) => state),
    wanted: [...planned.wanted],
  };
};

test("each key has a cluster at each server of its provider, however many Models share it, and a secret for each form (S59)", () => {
  const servers = [offer("e1"), offer("e1"), offer("e2", { header: "api-key", form: "plain" })];
  expect(plan({ offered: servers, keys: [key("ann"), key("eve")] })).toMatchObject({
    clusters: ["ann/e1", "ann/e2", "eve/e1", "eve/e2"].map((name) => `provider-key/${name}`),
    secrets: {
      "provider-key/ann/bearer": "Bearer value-of-ann",
      "provider-key/ann/plain": "value-of-ann",
      "provider-key/eve/bearer": "Bearer value-of-eve",
      "provider-key/eve/plain": "value-of-eve",
    },
    states: ["active", "active"],
  });
});

test("a key goes to no server but the one that it was entered for, whatever Models call the provider (S59)", () => {
  const evil = offer("e2", { origin: "https://evil.example" });
  expect(plan({ offered: [evil, offer("e3", { provider: "other" })] })).toMatchObject({
    clusters: [],
    secrets: {},
    states: ["active"],
  });
});

test("beyond the bound, the newest keys get no cluster, and none a part of its clusters (S59)", () => {
  const servers = [offer("e1"), offer("e2")];
  expect(plan({ offered: servers, keys: [key("ann"), key("bob"), key("eve")], maxClusters: 5 })).toMatchObject({
    states: ["active", "active", "no_room"],
  });
  expect(plan({ offered: servers, maxClusters: 1 })).toMatchObject({ clusters: [], secrets: {}, states: ["no_room"] });
});

test("a key that cannot be opened, or whose cluster an Envoy rejected, affects no other (S59)", () => {
  const rejected = new Map([["provider-key/bob/e1", "Envoy's words"]]);
  expect(plan({ keys: [key("ann", { value: null }), key("bob"), key("eve")], rejected })).toMatchObject({
    clusters: ["provider-key/eve/e1"],
    states: ["unusable", "unusable", "active"],
    wanted: ["provider-key/bob/e1", "provider-key/eve/e1"],
  });
});
