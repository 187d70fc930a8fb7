import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { eventually } from "../support/eventually.ts";
import { failures, startLoad } from "./load.ts";
import { installChart, installRelease, MODEL, rolledOut, serviceUrl, type Release } from "./release.ts";
import { streamChat } from "./streams.ts";

const cluster = useCluster();
const NAME = "operation";
const WITHIN = { withinMs: 60_000, everyMs: 500 };
let release: Release;
beforeAll(async () => {
  release = await installRelease(cluster(), { name: NAME });
});

test("requests are served while all operator pods are deleted", async () => {
  const load = startLoad({ url: release.url, key: release.key, model: MODEL, perSecond: 10 });
  const operators = `app.kubernetes.io/instance=${NAME},app.kubernetes.io/component=operator`;
  await release.kubectl(["delete", "pod", "--selector", operators]);
  // The old ones are gone by now; their successors are not there at once.
  const ready = ["wait", "--for=condition=Ready", "pod", "--selector", operators, "--timeout=60s"];
  await eventually(() => release.kubectl(ready), WITHIN);
  expect(failures(await load.stop())).toStrictEqual([]);
});

test("a key works again after its release was uninstalled and installed", async () => {
  await cluster().helm(["uninstall", NAME, "--namespace", release.namespace, "--wait"]);
  await installChart(cluster(), { name: NAME });
  await rolledOut(release.kubectl, release.fullname);
  const url = await serviceUrl(cluster(), release);
  const ask = () => streamChat({ url, key: release.key, model: MODEL, prompt: "Say hello." });
  await eventually(async () => expect(await ask()).toMatchObject({ status: 200, isWhole: true }), WITHIN);
});

test("a watched namespace that is deleted goes, and its key with it", async () => {
  const url = await serviceUrl(cluster(), release);
  // Waits until it is gone.
  await cluster().kubectl(["delete", "namespace", release.teamNamespace, "--timeout=90s"]);
  const ask = () => streamChat({ url, key: release.key, model: MODEL, prompt: "Say hello." });
  await eventually(async () => expect(await ask()).toMatchObject({ status: 401 }), WITHIN);
});
