import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { failures, startLoad } from "./load.ts";
import { installRelease, MODEL, rolledOut, type Release } from "./release.ts";
import { streamChat, streamMessages } from "./streams.ts";

const cluster = useCluster();
let release: Release;
beforeAll(async () => {
  release = await installRelease(cluster(), { name: "exchange", values: { gateway: { drainSeconds: 60 } } });
});

test("both gateway pods are replaced under load without a failed request", async () => {
  const load = startLoad({ url: release.url, key: release.key, model: MODEL, perSecond: 30 });
  await release.kubectl(["rollout", "restart", `statefulset/${release.fullname}`]);
  await rolledOut(release.kubectl, release.fullname);
  const results = await load.stop();
  expect(failures(results)).toStrictEqual([]);
  expect(results.length).toBeGreaterThan(100);
});

test("streams of 40 seconds stay complete while all gateway pods are deleted", async () => {
  const question = { url: release.url, key: release.key, model: MODEL, prompt: "Count. [[sim tokens=100 chunk-ms=400]]" };
  const streams = [streamChat, streamMessages, streamChat, streamMessages].map((stream) => stream(question));
  // Deleting waits until the pods are gone, which is after the streams.
  const pods = ["delete", "pod", "--selector", `app.kubernetes.io/instance=${release.name},app.kubernetes.io/component=gateway`];
  const deleted = release.kubectl([...pods, "--wait=false"]);
  const answers = await Promise.all(streams);
  expect(await deleted).toContain("deleted");
  expect(answers.map(({ status, isWhole }) => ({ status, isWhole }))).toStrictEqual(
    answers.map(() => ({ status: 200, isWhole: true })),
  );
  await rolledOut(release.kubectl, release.fullname);
});
