import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { stringify } from "yaml";
import { beforeAll, expect, test } from "vitest";
import { useOwnCluster } from "../support/cluster/use-own-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { failures, startLoad, type Load } from "./load.ts";
import {
  apiKeyObject,
  CHART,
  expectAnswer,
  makeNamespaces,
  MODEL,
  releaseNames,
  readKey,
  releaseValues,
  rolledOut,
  startServing,
  type Release,
} from "./release.ts";
import { readAvailable } from "./streams.ts";

/** One release, on a cluster of its own, through what may happen to it: each test goes on where the one before ended. */
const cluster = useOwnCluster();
const NAMES = releaseNames("gateway");
/** By `helm package`, of the commit whose programs are in the image with this tag. */
const EARLIER = { chart: path.join(import.meta.dirname, "earlier/chart.tgz"), values: { image: { tag: "earlier" } } };
const WITHIN = { withinMs: 60_000, everyMs: 250 };
const CHECK = ["exec", `deployment/${NAMES.fullname}-operator`, "--", "node", "dist/ledger-check-command.mjs"];
let release: Release;

const LEASE_SECONDS = 90;
const SERVED_MS = (LEASE_SECONDS - 30) * 1_000;
/** Longer than leases last and than the longest pause between two attempts of the operator. */
const POSTGRES_AWAY_MS = 600_000;
/** Longer than a Lease of the operator lasts. */
const API_AWAY_MS = 20_000;

const SETTINGS = {
  postgres: { enabled: true, resources: { requests: { cpu: "50m", memory: "128Mi" } } },
  gateway: { extproc: { leaseSeconds: LEASE_SECONDS } },
  crds: { enabled: true },
};

const startRequests = (perSecond: number, connections = 0) =>
  startLoad({ url: release.url, key: release.key, model: MODEL, perSecond, connections });
const available = () => readAvailable(release.url, release.key);
/** Of one of the load's requests, in nano-dollars: 7 tokens at 3 USD per million, and 5 at 15. */
const PRICE = 96_000n;

/** What the account has once every earlier request is booked: nothing has changed for seconds. */
async function settledBalance(): Promise<bigint> {
  let last = -1n;
  const readTwice = async () => {
    const previous = last;
    last = await available();
    expect(last).toBe(previous);
    return last;
  };
  return await eventually(readTwice, { withinMs: 60_000, everyMs: 5_000 });
}

/** The end of a load, after which the account has paid for each whole answer once, and for nothing else. */
async function stopAndSettle(load: Load, before: bigint) {
  const results = await load.stop();
  const whole = BigInt(results.length - failures(results).length);
  await eventually(async () => expect(before - (await available())).toBe(whole * PRICE), WITHIN);
  return results;
}

/** Of all containers: how often they were started again. */
async function restarts(): Promise<string> {
  const counts = "jsonpath={range .items[*]}{.metadata.name}{.status.containerStatuses[*].restartCount}{'\\n'}{end}";
  return await release.kubectl(["get", "pods", "--selector=app.kubernetes.io/component!=migration", "--output", counts]);
}

/** Another one has another id. */
const databasePod = () => release.kubectl(["get", `pod/${NAMES.fullname}-postgres-0`, "--output", "jsonpath={.metadata.uid}"]);

const applyKey = (name: string) =>
  cluster().kubectl(["apply", "--filename", "-"], stringify(apiKeyObject(NAMES.teamNamespace, name)));

async function expectKeyToWork(name: string): Promise<void> {
  const key = await readKey(release.kubectl, NAMES.teamNamespace, name);
  await eventually(() => expectAnswer(release.url, key), WITHIN);
}

const inRelease = ["--namespace", NAMES.namespace];

beforeAll(async () => {
  await makeNamespaces(cluster(), NAMES);
  const install = ["upgrade", "--install", NAMES.name, EARLIER.chart, ...inRelease, "--values", "-"];
  await cluster().helm(install, releaseValues(NAMES, SETTINGS, EARLIER.values));
  release = await startServing(cluster(), NAMES);
});

test("a release of an earlier version is upgraded under load: its key keeps working, and no request is charged twice", async () => {
  const balance = await settledBalance();
  const database = await databasePod();
  const load = startRequests(5);
  await cluster().helm(["upgrade", NAMES.name, CHART, ...inRelease, "--reset-then-reuse-values", "--set", "image.tag=null"]);
  await rolledOut(release.kubectl, NAMES.fullname);
  // What the earlier definitions did not have.
  const managed = ["wait", "apikey/my-key", "--for=condition=Managed", "--namespace", NAMES.teamNamespace, "--timeout=60s"];
  await cluster().kubectl(managed);
  await applyKey("after-upgrade");
  const results = await stopAndSettle(load, balance);
  expect(await release.kubectl(CHECK)).toContain("The ledger adds up.");
  expect(failures(results)).toStrictEqual([]);
  // Without the database, new gateway pods would serve nobody.
  expect(await databasePod()).toBe(database);
  await expectKeyToWork("after-upgrade");
});

test("the gateway serves and charges while the API server is down, and the operator resumes afterwards", async () => {
  const balance = await settledBalance();
  const before = await restarts();
  const load = startRequests(10);
  await cluster().apiServer.kill();
  await sleep(API_AWAY_MS);
  await cluster().apiServer.start();
  await applyKey("after-api-server");
  const results = await stopAndSettle(load, balance);
  expect(failures(results)).toStrictEqual([]);
  await expectKeyToWork("after-api-server");
  expect(await restarts()).toBe(before);
});

test(
  "without Postgres, accounts in use are served as long as promised; afterwards everything is charged and keys are ready",
  async () => {
    const balance = await settledBalance();
    const before = await restarts();
    const postgres = `statefulset/${NAMES.fullname}-postgres`;
    // Every process of both pods serves the account.
    const load = startRequests(5, 16);
    await eventually(() => expect(load.sent()).toBeGreaterThanOrEqual(40), WITHIN);
    // It ends all connections at once; its pod may take a minute to go.
    const goneMs = load.nowMs();
    await release.kubectl(["scale", postgres, "--replicas=0"]);
    await release.kubectl(["wait", `pod/${NAMES.fullname}-postgres-0`, "--for=delete", "--timeout=120s"]);
    await applyKey("during-outage");
    await sleep(POSTGRES_AWAY_MS);
    const ready = ["get", `statefulset/${NAMES.fullname}`, "--output", "jsonpath={.status.readyReplicas}"];
    expect(await release.kubectl(ready)).toBe("2");
    await release.kubectl(["scale", postgres, "--replicas=1"]);
    const isBack = ["wait", `pod/${NAMES.fullname}-postgres-0`, "--for=condition=Ready", "--timeout=120s"];
    await eventually(() => release.kubectl(isBack), WITHIN);
    const key = ["wait", "apikey/during-outage", "--for=condition=Ready", "--namespace", NAMES.teamNamespace];
    // Fifteen seconds is the longest pause between two attempts; a busy machine needs some for the attempt itself.
    await cluster().kubectl([...key, "--timeout=30s"]);
    const results = await stopAndSettle(load, balance);
    expect(failures(results.filter(({ sentMs }) => sentMs < goneMs + SERVED_MS))).toStrictEqual([]);
    const refusals = failures(results).map(({ outcome }) => outcome);
    expect(refusals.length).toBeGreaterThan(0);
    expect(refusals.filter((outcome) => !/^503 .*billing_unavailable/s.test(outcome))).toStrictEqual([]);
    await expectKeyToWork("during-outage");
    expect(await restarts()).toBe(before);
    expect(await release.kubectl(CHECK)).toContain("The ledger adds up.");
  },
  POSTGRES_AWAY_MS + 300_000,
);
