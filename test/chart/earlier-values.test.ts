import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse, stringify } from "yaml";
import * as z from "zod";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { chosenOfMatrix } from "./harness-values.ts";
import {
  CHART,
  EXTERNAL_DATABASE,
  NAME,
  NAMESPACE,
  only,
  parseObjects,
  RELEASE,
  renderText,
  title,
  type KubeObject,
  type Values,
} from "./harness-render.ts";

/** `helm upgrade --reuse-values` gives a chart the values of the one before, which lack whatever is new. */
const api = useKubeApi();
const EARLIER = path.join(import.meta.dirname, "earlier/values.yaml");

beforeAll(async () => {
  for (const name of [NAMESPACE, "team-a", "team-b"]) await api().kubectl(["create", "namespace", name]);
  await api().kubectl(["config", "set-context", "--current", "--namespace", NAMESPACE]);
});

/** The chart with other defaults. */
async function chartWith(values: string): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-chart-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const chart = path.join(directory, "model-gateway");
  await cp(CHART, chart, { recursive: true });
  await writeFile(path.join(chart, "values.yaml"), values);
  return chart;
}

async function renderWith(chart: string, values: Values): Promise<KubeObject[]> {
  const yaml = await renderText(api(), values, chart);
  // Secrets of the chart's own are random each time.
  return parseObjects(yaml).filter(({ kind }) => kind !== "Secret");
}

test.for(chosenOfMatrix())("a missing value has its default: with $name", async ({ values }) => {
  const [usual, empty] = await Promise.all([renderWith(CHART, values), renderWith(await chartWith("{}\n"), values)]);
  const byTitle = (objects: readonly KubeObject[]) =>
    Object.fromEntries(objects.map((object) => [`${object.metadata.namespace ?? ""} ${title(object)}`, object]));
  expect(byTitle(empty)).toEqual(byTitle(usual));
});

test("a release of an earlier chart can be upgraded with --reuse-values, and keeps its values", async () => {
  const values = { postgres: { enabled: true }, dashboard: { replicas: 3 }, gateway: { extproc: { leaseSeconds: 45 } } };
  const earlier = await chartWith(await readFile(EARLIER, "utf8"));
  await api().helm(["install", RELEASE, earlier, "--values", "-"], { input: stringify(values) });
  await api().helm(["upgrade", RELEASE, CHART, "--reuse-values"]);
  const stored: unknown = JSON.parse(await api().helm(["get", "values", RELEASE, "--all", "--output", "json"]));
  expect(stored, "the release has no values of the new chart").not.toHaveProperty("trustedCa");
  const objects = parseObjects(await api().helm(["get", "manifest", RELEASE]));
  expect(only(objects, "Deployment", `${NAME}-dashboard`)).toMatchObject({ spec: { replicas: 3 } });
  expect(JSON.stringify(only(objects, "StatefulSet", NAME))).toContain('{"name":"LEASE_SECONDS","value":"45"}');
  expect(JSON.stringify(only(objects, "Deployment", `${NAME}-operator`))).toContain('"BACKEND_ALLOW_PRIVATE"');
});

test("a value applies under its deprecated name unless its replacement is set, and the notes warn of it", async () => {
  const extproc = Object.fromEntries([
    ["mostBodyMib", 1024],
    ["mostOpenRequests", 2000],
    ["maxOpenRequests", 3000],
    ["leaseLeastUsd", "0.10"],
    ["leaseMostUsd", "7"],
  ]);
  const values = { ...EXTERNAL_DATABASE, crds: { enabled: false }, gateway: { extproc } };
  const gateway = JSON.stringify(only(await renderWith(CHART, values), "StatefulSet", NAME));
  const used = { MAX_BODY_MIB: "1024", MAX_OPEN_REQUESTS: "3000", LEASE_MIN_USD: "0.10", LEASE_MAX_USD: "7" };
  for (const [name, value] of Object.entries(used)) expect(gateway).toContain(JSON.stringify({ name, value }));
  const report = await api().helm(["install", "renamed", CHART, "--dry-run=client", "--values", "-"], {
    input: stringify(values),
  });
  for (const [old, replacement] of [
    ["mostBodyMib", "maxBodyMib"],
    ["mostOpenRequests", "maxOpenRequests"],
    ["leaseLeastUsd", "leaseMinUsd"],
    ["leaseMostUsd", "leaseMaxUsd"],
  ])
    expect(report).toContain(
      `gateway.extproc.${old} is deprecated and will be removed. Set gateway.extproc.${replacement} instead`,
    );
});

test("entries of resources and labels can be removed, other values cannot", async () => {
  const objects = await renderWith(CHART, {
    postgres: { enabled: true },
    gateway: { extproc: { resources: { limits: { memory: null } }, leaseSeconds: null } },
    monitoring: { dashboards: { enabled: true, labels: { grafana_dashboard: null, found: "it" } } },
  });
  const gateway = JSON.stringify(only(objects, "StatefulSet", NAME));
  expect(gateway).toContain('"resources":{"limits":{},"requests":{"cpu":"500m","memory":"512Mi"}}');
  expect(gateway).toContain('{"name":"LEASE_SECONDS","value":"90"}');
  expect(only(objects, "ConfigMap", `${NAME}-dashboard-money`).metadata.labels).not.toHaveProperty("grafana_dashboard");
});

test("the fixture lacks groups that later charts have, and no chart has dropped one of its groups", async () => {
  const read = async (file: string): Promise<Record<string, unknown>> =>
    z.record(z.string(), z.unknown()).parse(parse(await readFile(file, "utf8")));
  const [earlier, current] = [await read(EARLIER), await read(path.join(CHART, "values.yaml"))];
  expect(Object.keys(earlier)).not.toContain("internalTls");
  expect(Object.keys(current)).toEqual(expect.arrayContaining(Object.keys(earlier)));
});
