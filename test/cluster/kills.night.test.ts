import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { CLOSED, failures, startLoad, type Load } from "./load.ts";
import { envoyOf, extprocOf, kill } from "./processes.ts";
import { installRelease, MODEL, rolledOut, type Release } from "./release.ts";

/** Processes of a gateway pod are killed while clients send 200 requests a second. */
const cluster = useCluster();
let release: Release;
beforeAll(async () => {
  release = await installRelease(cluster(), { name: "kills", values: { gateway: { drainSeconds: 60 } } });
});

const PER_SECOND = 200;
const POD = "kills-model-gateway-0";

const loadBothPods = () => startLoad({ url: release.url, key: release.key, model: MODEL, perSecond: PER_SECOND });
const sent = (load: Load, count: number) =>
  eventually(() => expect(load.sent()).toBeGreaterThanOrEqual(count), { withinMs: 120_000, everyMs: 50 });

test("a killed extproc worker fails only its own requests, of 2,000 at 200 per second", async () => {
  const before = await extprocOf(cluster(), release, POD);
  expect(before.workers).toHaveLength(2);
  const [victim = 0] = before.workers;
  const load = loadBothPods();
  await sent(load, 2 * PER_SECOND);
  const beforeMs = load.nowMs();
  await kill(cluster(), victim);
  const afterMs = load.nowMs();
  await sent(load, 10 * PER_SECOND);
  const results = await load.stop();
  const failed = failures(results);
  const running = results.filter(({ sentMs, endedMs }) => sentMs <= afterMs && endedMs >= beforeMs);
  expect(failed.filter((each) => !running.includes(each))).toStrictEqual([]);
  // On a busy machine more than forty are under way, of which each worker has about a quarter.
  expect(failed.length).toBeLessThanOrEqual(Math.max(10, running.length / 2));
  await eventually(async () => {
    const after = await extprocOf(cluster(), release, POD);
    expect(after.supervisor).toBe(before.supervisor);
    expect(after.workers.filter((pid) => !before.workers.includes(pid))).toHaveLength(1);
  });
});

test.for([
  { name: "all of extproc", victim: async () => (await extprocOf(cluster(), release, POD)).supervisor },
  { name: "Envoy", victim: () => envoyOf(cluster(), release, POD) },
])(
  "a pod whose container dies ($name) keeps no client: each connection fails once, and the next goes to another pod",
  async ({ victim }) => {
    const pid = await victim();
    const load = loadBothPods();
    // It may be for a moment only.
    const unready = release.kubectl(["wait", `pod/${POD}`, "--for=condition=Ready=false", "--timeout=120s"]);
    await sent(load, 3 * PER_SECOND);
    await kill(cluster(), pid);
    const killedMs = load.nowMs();
    await unready;
    const known = load.sent();
    await sent(load, known + 6 * PER_SECOND);
    const results = await load.stop();
    // What was being answered at that moment may end in a 503 of Envoy's that no filter sees any more.
    const later = failures(results).filter(({ sentMs }) => sentMs > killedMs);
    expect(later.filter(({ outcome }) => /^\d/.test(outcome) && !outcome.startsWith(`503${CLOSED}`))).toStrictEqual([]);
    expect(failures(results.slice(known + 3 * PER_SECOND))).toStrictEqual([]);
    await rolledOut(release.kubectl, release.fullname);
  },
);
