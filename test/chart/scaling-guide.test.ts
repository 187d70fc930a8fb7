import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { parse, stringify } from "yaml";
import * as z from "zod";
import { beforeAll, expect, onTestFinished, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";
import { useHelm } from "../support/kube/use-helm.ts";
import { findPromtool } from "../support/tools/promtool.ts";
import { EXTERNAL_DATABASE, NAME, NAMESPACE, only, render } from "./harness-render.ts";

/** What docs/kubernetes.md says about scaling by requests in flight, with Prometheus' own evaluation of its queries. */
const helm = useHelm();
const TOOLS = { environment: process.env, onProgress: (line: string) => console.log(line) };
const METRIC = "gateway_open_streams";
let promtool: string;

beforeAll(async () => {
  promtool = await findPromtool(TOOLS);
});

async function example(name: string): Promise<unknown> {
  const page = await readFile(path.join(ROOT, "docs/kubernetes.md"), "utf8");
  const [, yaml] = new RegExp(`^<!-- ${name} -->\\n\`\`\`yaml\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(page) ?? [];
  if (yaml === undefined) throw new Error(`The guide has no example "${name}".`);
  return parse(yaml);
}

/** Two gateway pods, and one of another release, as a PodMonitor labels them. */
const series = (
  [
    [NAMESPACE, "gw-0", 300],
    [NAMESPACE, "gw-1", 500],
    ["elsewhere", "gw-0", 7000],
  ] as const
).map(([namespace, pod, value]) => ({ series: `${METRIC}{namespace="${namespace}",pod="${pod}"}`, values: `${value}x10` }));

/** @throws Error with promtool's words if the query has other results. */
async function expectSamples(expr: string, samples: readonly { labels: string; value: number }[]): Promise<void> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-query-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const file = path.join(directory, "query.yaml");
  const query = { expr, eval_time: "5m", exp_samples: samples };
  await writeFile(file, stringify({ tests: [{ interval: "1m", input_series: series, promql_expr_test: [query] }] }));
  await promisify(execFile)(promtool, ["test", "rules", file]);
}

const ruleSchema = z.object({ rules: z.tuple([z.object({ seriesQuery: z.string(), metricsQuery: z.string() })]) });

test("the adapter's rule returns a value for each pod of the namespace, under the name that the chart's autoscaler requests", async () => {
  const { rules } = ruleSchema.parse(await example("adapter rule"));
  const [{ seriesQuery, metricsQuery }] = rules;
  expect(seriesQuery.split("{")[0]).toBe(METRIC);
  // As the adapter fills it in for all pods of a namespace.
  const query = metricsQuery
    .replace("<<.Series>>", METRIC)
    .replace("<<.LabelMatchers>>", `namespace="${NAMESPACE}",pod=~"gw-0|gw-1"`)
    .replace("<<.GroupBy>>", "pod");
  await expectSamples(query, [
    { labels: '{pod="gw-0"}', value: 300 },
    { labels: '{pod="gw-1"}', value: 500 },
  ]);
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, gateway: { autoscaling: { targetOpenStreams: 1000 } } });
  expect(only(objects, "HorizontalPodAutoscaler", NAME)).toMatchObject({
    spec: { metrics: [{}, { type: "Pods", pods: { metric: { name: METRIC } } }] },
  });
});

const triggersSchema = z.object({
  spec: z.object({ triggers: z.tuple([z.object({ metadata: z.object({ query: z.string() }) })]) }),
});

test("KEDA's values leave the number of pods to KEDA, and its query counts the release's requests", async () => {
  const values = z.record(z.string(), z.unknown()).parse(await example("keda values"));
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, ...values });
  expect(objects.map(({ kind }) => kind)).not.toContain("HorizontalPodAutoscaler");
  const scaled = only(objects, "ScaledObject", NAME);
  const target = { apiVersion: "apps/v1", kind: "StatefulSet", name: NAME };
  expect(scaled).toMatchObject({ spec: { scaleTargetRef: target } });
  expect(only(objects, "StatefulSet", NAME)).not.toHaveProperty("spec.replicas");
  const [{ metadata }] = triggersSchema.parse(scaled).spec.triggers;
  await expectSamples(metadata.query, [{ labels: "{}", value: 800 }]);
});
