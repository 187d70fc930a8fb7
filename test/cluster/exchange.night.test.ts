import { beforeAll, expect, test } from "vitest";
import { useCluster } from "../support/cluster/use-cluster.ts";
import { failures, startLoad } from "./load.ts";
import { installRelease, MODEL, rolledOut, type Release } from "./release.ts";
import { streamChat, streamMessages } from "./streams.ts";

const cluster = useCluster();
let release: Release;
beforeAll(async () => {
  release = await installRelease(cluster(), { name: "exchange", values: { gateway: { drainSeconds: 120 } } });
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
  // Few, long pauses: those of a busy machine add up to less.
  const question = { url: release.url, key: release.key, model: MODEL, prompt: "Count. [[sim tokens=20 chunk-ms=2000]]" };
  const streams = [streamChat, streamMessages, streamChat, streamMessages].map((stream) => {
    const begun = Promise.withResolvers<void>();
    return { begun: begun.promise, answer: stream({ ...question, onBegun: begun.resolve }) };
  });
  const answers = Promise.all(streams.map(({ answer }) => answer));
  await Promise.race([Promise.all(streams.map(({ begun }) => begun)), answers]);
  // Deleting waits until the pods are gone, which is after the streams.
  const pods = ["delete", "pod", "--selector", `app.kubernetes.io/instance=${release.name},app.kubernetes.io/component=gateway`];
  expect(await release.kubectl([...pods, "--wait=false"])).toContain("deleted");
  for (const answer of await answers) expect(answer).toMatchObject({ status: 200, isWhole: true });
  await rolledOut(release.kubectl, release.fullname);
});
