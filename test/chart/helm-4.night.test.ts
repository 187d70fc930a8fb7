import process from "node:process";
import { beforeAll, expect, test } from "vitest";
import { findHelm4 } from "../support/tools/helm-4.ts";
import { createCommand } from "../support/kube/commands.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { CHART, NAME, NAMESPACE, RELEASE } from "./harness-render.ts";

const api = useKubeApi();
let helm4Program: string;

beforeAll(async () => {
  helm4Program = await findHelm4({ environment: process.env, onProgress: (line) => console.log(line) });
  await api().kubectl(["create", "namespace", NAMESPACE]);
  await api().kubectl(["config", "set-context", "--current", "--namespace", NAMESPACE]);
  await api().helm(["install", RELEASE, CHART, "--namespace", NAMESPACE, "--set", "postgres.enabled=true"]);
});

const get = (resource: string, output: string) => api().kubectl(["get", resource, "--output", output]);

test("Helm 4 upgrades, rolls back and uninstalls a release of Helm 3", async () => {
  const helm4 = createCommand(helm4Program, api());
  const run = (...words: string[]) => helm4([...words, "--namespace", NAMESPACE]);
  const generation = () => get(`statefulset/${NAME}`, "jsonpath={.metadata.generation}");
  const pepper = () => get(`secret/${NAME}-key-pepper`, "jsonpath={.data}");
  const drainSeconds = () => get(`statefulset/${NAME}`, "jsonpath={.spec.template.spec.terminationGracePeriodSeconds}");
  const before = { generation: await generation(), pepper: await pepper(), drainSeconds: await drainSeconds() };

  await run("upgrade", RELEASE, CHART, "--reuse-values");
  expect(await generation(), "the same chart and values").toBe(before.generation);
  await run("upgrade", RELEASE, CHART, "--reset-then-reuse-values", "--set", "gateway.drainSeconds=30");
  expect(await drainSeconds()).toBe("90");
  // Fields that Helm 3 set are Helm 4's only by force.
  await run("upgrade", RELEASE, CHART, "--reuse-values", "--server-side=true", "--force-conflicts");
  expect(await drainSeconds()).toBe("90");
  await run("rollback", RELEASE);
  await run("rollback", RELEASE, "1");
  expect(await drainSeconds()).toBe(before.drainSeconds);
  expect(await pepper()).toBe(before.pepper);

  await run("uninstall", RELEASE);
  expect(await pepper()).toBe(before.pepper);
  expect((await api().kubectl(["get", "deployments,services,statefulsets", "--output", "name"])).trim()).toBe("");
});
