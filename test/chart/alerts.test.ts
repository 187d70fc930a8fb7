import { execFile } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { stringify } from "yaml";
import * as z from "zod";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";
import { findKubeTools } from "../support/kube/tools.ts";
import { findPromtool } from "../support/promtool.ts";
import { ALERT_CASES, type Series } from "./alert-cases.ts";
import { CHART, EXTERNAL_DATABASE, NAMESPACE, parseObjects, RELEASE } from "./harness-render.ts";

const run = promisify(execFile);
const TOOLS = { environment: process.env, onProgress: (line: string) => console.log(line) };

const ruleSchema = z.strictObject({
  alert: z.string(),
  expr: z.string(),
  for: z.string().optional(),
  labels: z.strictObject({ severity: z.enum(["critical", "warning"]) }),
  annotations: z.strictObject({ runbook_url: z.string(), summary: z.string(), description: z.string().optional() }),
});
const specSchema = z.looseObject({
  spec: z.strictObject({ groups: z.array(z.strictObject({ name: z.string(), rules: z.array(ruleSchema) })) }),
});
type Rule = z.infer<typeof ruleSchema>;

let promtool: string;
let directory: string;
let rules: Rule[];

beforeAll(async () => {
  promtool = await findPromtool(TOOLS);
  directory = await mkdtemp(path.join(tmpdir(), "gateway-alerts-"));
  const { helm } = await findKubeTools(TOOLS);
  const values = path.join(directory, "values.yaml");
  await writeFile(values, stringify({ ...EXTERNAL_DATABASE, monitoring: { prometheusRule: { enabled: true } } }));
  const { stdout } = await run(helm, ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", values], {
    maxBuffer: 1 << 26,
  });
  const { spec } = specSchema.parse(parseObjects(stdout).find(({ kind }) => kind === "PrometheusRule"));
  rules = spec.groups.flatMap((group) => group.rules);
  await writeFile(path.join(directory, "rules.yaml"), stringify(spec));
}, 900_000);
afterAll(() => rm(directory, { recursive: true }));

/** What promtool finds when these series are there for an hour. @throws Error with its words where it expects other alerts. */
async function expectAlerts(series: Series, rule: Rule, firing: Readonly<Record<string, string>>[]): Promise<void> {
  const expected = firing.map((labels) => ({
    exp_labels: { ...rule.labels, ...labels },
    exp_annotations: Object.fromEntries(
      Object.entries(rule.annotations).map(([name, text]) => [
        name,
        text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? ""),
      ]),
    ),
  }));
  const file = path.join(directory, `${rule.alert}.yaml`);
  await writeFile(
    file,
    stringify({
      rule_files: ["rules.yaml"],
      evaluation_interval: "1m",
      tests: [
        {
          interval: "1m",
          input_series: Object.entries(series).map(([name, values]) => ({ series: name, values })),
          alert_rule_test: [{ eval_time: "60m", alertname: rule.alert, exp_alerts: expected }],
        },
      ],
    }),
  );
  await run(promtool, ["test", "rules", file]);
}

function ruleOf(alert: string): Rule {
  const rule = rules.find((candidate) => candidate.alert === alert);
  if (rule === undefined) throw new Error(`the chart has no alert ${alert}`);
  return rule;
}

test("each alert of the chart has exactly one case here", () => {
  expect(ALERT_CASES.map(({ alert }) => alert).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

test.for(ALERT_CASES)("$alert fires", async ({ alert, fires, labels }) => {
  await expectAlerts(fires, ruleOf(alert), [labels]);
});

test.for(ALERT_CASES.flatMap(({ alert, quiet }) => Object.entries(quiet).map(([why, series]) => ({ alert, why, series }))))(
  "$alert is quiet: $why",
  async ({ alert, series }) => {
    expect(Object.keys(series)).not.toEqual([]);
    await expectAlerts(series, ruleOf(alert), []);
  },
);

test.for(ALERT_CASES.flatMap(({ silence, ...known }) => (silence === undefined ? [] : [{ ...known, silence }])))(
  "$alert fires when no instance is left to report",
  async ({ alert, silence, labels }) => {
    await expectAlerts(silence, ruleOf(alert), [labels]);
  },
);

test.for(ALERT_CASES.filter(({ silence }) => silence === undefined))(
  "$alert is quiet about another release",
  async ({ alert, fires }) => {
    const others = Object.entries(fires).map(([name, values]) => [name.replaceAll(NAMESPACE, "elsewhere"), values]);
    await expectAlerts(Object.fromEntries(others), ruleOf(alert), []);
  },
);

test("each alert's runbook is a heading on the operating page", async () => {
  const page = await readFile(path.join(ROOT, "docs/operating.md"), "utf8");
  const headings = [...page.matchAll(/^#+ (\w+)$/gm)].map(([, heading = ""]) => heading);
  for (const { alert, annotations } of rules) {
    expect(headings).toContain(alert);
    expect(annotations.runbook_url).toBe(`docs/operating.md#${alert.toLowerCase()}`);
  }
});
