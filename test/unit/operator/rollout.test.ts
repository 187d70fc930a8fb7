import { beforeEach, describe, expect, test } from "vitest";
import type { PublishedModel } from "../../../ledger/models/catalogue.ts";
import { createAddressPolicy } from "../../../operator/address/policy.ts";
import { NO_PEERS } from "../../../operator/peers.ts";
import { createRollout, type Rollout } from "../../../operator/rollout.ts";
import { readFolder } from "../../../operator/source/folder-content.ts";
import type { ResourceSet } from "../../../operator/source/source.ts";
import type { PushOutcome } from "../../../operator/xds/serve.ts";

/** The order of things: what Envoy was sent and what the catalogue was made, one line each. */
let steps: string[];
let nowMs: number;
let verdict: (clusters: readonly string[]) => PushOutcome;
let publishFails: boolean;
let rollout: Rollout;
const policy = createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [] });

beforeEach(() => {
  [steps, nowMs, publishFails] = [[], 1_000_000, false];
  verdict = () => ({ kind: "acked", envoys: 1 });
  let pushed: string[] = [];
  rollout = createRollout({
    xds: {
      push(snapshot) {
        pushed = [...snapshot.clusters.keys()];
        steps.push(`push ${pushed.map(short).sort().join(" ")}`);
      },
      waitForAck: async () => verdict(pushed),
    },
    peers: NO_PEERS,
    readApplied: async () => new Map(),
    publish: async (models) => {
      if (publishFails) throw new Error("the database is away");
      steps.push(`publish ${models.map(describeModel).join(" ")}`);
      return { added: [], changed: [], withdrawn: [], repriced: [] };
    },
    events: { envoysLate: () => void steps.push("late"), published: () => undefined, rootsUnusable: () => undefined },
    clock: { nowMs: () => nowMs },
    roots: { pem: "", extra: { usable: [], unusable: [] } },
    policy,
    names: { resolve: async () => new Map(), missing: () => new Set() },
    maxProviderClusters: 0,
    ackTimeoutMs: 1,
    graceMs: 30_000,
  });
});

const hosts = new Map<string, string>();
const short = (cluster: string) => hosts.get(cluster) ?? cluster;
const describeModel = ({ model }: PublishedModel) =>
  `${model.name}@${model.backends.map(({ cluster }) => short(cluster)).join()}`;

/** Models by name, each with one backend host. */
function models(wanted: Record<string, string>): ResourceSet {
  const text = Object.entries(wanted).map(
    ([name, host]) => `
{ apiVersion: modelgateway.dev/v1alpha1, kind: Model, metadata: { name: ${name} }, spec: { modelName: ${name},
  pricing: { inputPerMillion: "1", outputPerMillion: "1" }, backends: [{ name: a, protocol: Messages, url: "http://${host}" }] } }`,
  );
  return readFolder([{ name: "a.yaml", text: text.join("\n---"), createdSeconds: 0 }], new Map(), {}).set;
}

/** Runs, and learns which cluster name stands for which host, so that steps can be read. */
async function run(wanted: Record<string, string>) {
  const { reconcile } = await import("../../../operator/model/reconcile.ts");
  const set = models(wanted);
  const plan = reconcile({
    set,
    nowMs,
    roots: { pem: "", extra: { usable: [], unusable: [] } },
    mayProbe: true,
    policy,
    addresses: new Map(),
    missingHosts: new Set(),
    rejected: new Map(),
    serving: new Map(),
  });
  for (const [cluster, { host }] of plan.snapshot.clusters) hosts.set(cluster, host);
  steps.length = 0;
  return await rollout.run(set, []);
}

const programmed = ({ statuses }: Awaited<ReturnType<typeof run>>, name: string) =>
  statuses.get(`default/${name}`)?.conditions.find(({ type }) => type === "Programmed");

test("Envoy first, then the catalogue", async () => {
  const result = await run({ m: "one" });
  expect(steps).toEqual(["push one", "publish m@one"]);
  expect(programmed(result, "m")).toMatchObject({
    isTrue: true,
    reason: "Programmed",
    message: "active in all connected Envoys",
  });
});

test("with no Envoy connected the catalogue is published at once", async () => {
  verdict = () => ({ kind: "acked", envoys: 0 });
  expect(programmed(await run({ m: "one" }), "m")?.message).toBe("in the catalogue, but no Envoy is connected");
  expect(steps).toEqual(["push one", "publish m@one"]);
});

test("a replaced cluster stays until the catalogue has moved and the grace period is over", async () => {
  await run({ m: "one" });
  const { nextMs } = await run({ m: "two" });
  expect(steps).toEqual(["push one two", "publish m@two"]);
  expect(nextMs).toBe(nowMs + 30_000);
  nowMs += 29_999;
  await run({ m: "two" });
  expect(steps[0]).toBe("push one two");
  nowMs += 1;
  expect((await run({ m: "two" })).nextMs).toBeNull();
  expect(steps[0]).toBe("push two");
});

test("a cluster that returns within its grace period is no longer retired", async () => {
  await run({ m: "one" });
  await run({ m: "two" });
  await run({ m: "one" });
  nowMs += 30_000;
  await run({ m: "one" });
  expect(steps).toEqual(["push one", "publish m@one"]);
});

test("a silent Envoy does not delay the others", async () => {
  verdict = () => ({ kind: "late", nodes: ["x"] });
  await run({ m: "one" });
  expect(steps).toEqual(["push one", "late", "publish m@one"]);
});

test("a catalogue that cannot be published leaves the old cluster in place", async () => {
  await run({ m: "one" });
  publishFails = true;
  await expect(run({ m: "two" })).rejects.toThrow("the database is away");
  publishFails = false;
  await run({ m: "two" });
  expect(steps).toEqual(["push one two", "publish m@two"]);
});

describe("an Envoy that rejects a configuration", () => {
  const refuses = (host: string) => {
    verdict = (clusters) => {
      const bad = clusters.find((cluster) => short(cluster) === host);
      if (bad === undefined) return { kind: "acked", envoys: 1 };
      return { kind: "rejected", message: `Error adding/updating cluster(s) ${bad}: malformed host` };
    };
  };

  test("removes the Model that its message names, and no other", async () => {
    refuses("bad");
    const result = await run({ good: "one", broken: "bad" });
    expect(steps).toEqual(["push bad one", "push one", "publish good@one"]);
    expect(programmed(result, "good")?.isTrue).toBe(true);
    expect(programmed(result, "broken")).toMatchObject({
      isTrue: false,
      reason: "RejectedByEnvoy",
      message: expect.stringMatching(/: malformed host$/),
    });
  });

  test("leaves a Model at its last valid version, and does not get the bad one again", async () => {
    refuses("bad");
    await run({ m: "one" });
    const result = await run({ m: "bad" });
    expect(steps).toEqual(["push bad one", "push one", "publish m@one"]);
    expect(programmed(result, "m")?.message).toMatch(/malformed host; the last valid version stays in force$/);
    await run({ m: "bad" });
    expect(steps).toEqual(["push one", "publish m@one"]);
    await run({ m: "two" });
    expect(steps).toEqual(["push one two", "publish m@two"]);
  });

  test("does not remove a Model whose cluster its message only quotes, or has within a longer name", async () => {
    verdict = (clusters) => {
      const find = (host: string) => clusters.find((cluster) => short(cluster) === host);
      const bad = find("bad");
      if (bad === undefined) return { kind: "acked", envoys: 1 };
      const message = `Error adding/updating cluster(s) model/x/${find("one")}: duplicate, ${bad}: sni: "${find("one")}: x"`;
      return { kind: "rejected", message };
    };
    const result = await run({ good: "one", broken: "bad" });
    expect(steps).toEqual(["push bad one", "push one", "publish good@one"]);
    expect(programmed(result, "broken")?.message).toMatch(/: sni: "model\/good\/a\/[0-9a-f]{8}: x"$/);
  });

  test("may name a few of many at a time", async () => {
    verdict = (clusters) => {
      const bad = clusters.filter((cluster) => short(cluster).startsWith("bad")).slice(0, 2);
      if (bad.length === 0) return { kind: "acked", envoys: 1 };
      const words = bad.map((cluster) => `${cluster}: malformed host`).join(", ");
      return { kind: "rejected", message: `Error adding/updating cluster(s) ${words}, ...(truncated)` };
    };
    const broken = Array.from({ length: 30 }, (_, at) => [`broken-${at}`, `bad${at}`] as const);
    const result = await run({ good: "one", ...Object.fromEntries(broken) });
    expect(steps.at(-1)).toBe("publish good@one");
    expect(programmed(result, "broken-29")?.reason).toBe("RejectedByEnvoy");
  });

  test("with a message that names no cluster leaves everything unchanged", async () => {
    await run({ m: "one" });
    verdict = () => ({ kind: "rejected", message: "something else" });
    const result = await run({ m: "two" });
    expect(steps).toEqual(["push one two", "push one"]);
    expect(programmed(result, "m")).toMatchObject({ isTrue: false, reason: "RejectedByEnvoy", message: "something else" });
  });
});
