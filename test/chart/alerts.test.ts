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
import { findPromtool } from "../support/tools/promtool.ts";
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

let directory: string;
let rules: Rule[];
/** What promtool found wrong, by the check's name; empty where it found what it should. */
let verdicts: ReadonlyMap<string, string>;

interface Check {
  name: string;
  alert: string;
  /** What is there for an hour and a half. */
  series: Series;
  /** Labels of the alerts that fire after an hour, besides the severity. */
  firing: readonly Readonly<Record<string, string>>[];
}

const elsewhere = (series: Series): Series =>
  Object.fromEntries(Object.entries(series).map(([name, values]) => [name.replaceAll(NAMESPACE, "elsewhere"), values]));

const CHECKS: readonly Check[] = ALERT_CASES.flatMap(({ alert, labels, fires, quiet, silence }) => [
  { name: `${alert} fires`, alert, series: fires, firing: [labels] },
  ...Object.entries(quiet).map(([why, series]) => ({ name: `${alert} is quiet: ${why}`, alert, series, firing: [] })),
  silence === undefined
    ? { name: `${alert} is quiet about another release`, alert, series: elsewhere(fires), firing: [] }
    : { name: `${alert} fires when no instance is left to report`, alert, series: silence, firing: [labels] },
]);

beforeAll(async () => {
  const promtool = await findPromtool(TOOLS);
  directory = await mkdtemp(path.join(tmpdir(), "gateway-alerts-"));
  const { helm } = await findKubeTools(TOOLS);
  const values = path.join(directory, "values.yaml");
  await writeFile(values, stringify({ ...EXTERNAL_DATABASE, monitoring: { prometheusRule: { enabled: true } } }));
  const { stdout } = await run(helm, ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", values], {
    maxBuffer: 1 << 26,
  });
  const { spec } = specSchema.parse(parseObjects(stdout).find(({ kind }) => kind === "PrometheusRule"));
  rules = spec.groups.flatMap((group) => group.rules);
  verdicts = await judge(promtool);
});
afterAll(() => rm(directory, { recursive: true }));

/** Makes all checks in one run, each with its alert alone: promtool evaluates every rule of a file at every minute. */
async function judge(promtool: string): Promise<Map<string, string>> {
  const write = (name: string, content: object) => writeFile(path.join(directory, name), stringify(content));
  for (const rule of rules) {
    const ofRule = CHECKS.filter(({ alert }) => alert === rule.alert);
    const tests = ofRule.map(({ name, series, firing }) => ({
      name,
      interval: "1m",
      input_series: Object.entries(series).map(([of, values]) => ({ series: of, values })),
      alert_rule_test: [{ eval_time: "60m", alertname: rule.alert, exp_alerts: firing.map((labels) => alertOf(rule, labels)) }],
    }));
    await write(`${rule.alert}.yaml`, { groups: [{ name: "one", rules: [rule] }] });
    await write(`${rule.alert}.tests.yaml`, { rule_files: [`${rule.alert}.yaml`], evaluation_interval: "1m", tests });
  }
  const report = path.join(directory, "report.xml");
  const files = rules.map(({ alert }) => path.join(directory, `${alert}.tests.yaml`));
  const complaint = await run(promtool, ["test", "rules", `--junit=${report}`, ...files], { maxBuffer: 1 << 26 }).then(
    () => "",
    (error: unknown) => String(error),
  );
  const cases = (await readFile(report, "utf8")).matchAll(/<testcase name="([^"]*)">([^]*?)<\/testcase>/g);
  const found = new Map([...cases].map(([, name = "", failure = ""]) => [plainText(name), plainText(failure)]));
  if (complaint !== "" && [...found.values()].every((failure) => failure === "")) throw new Error(complaint);
  return found;
}

/** As promtool expects it. */
function alertOf(rule: Rule, labels: Readonly<Record<string, string>>): object {
  const annotations = Object.entries(rule.annotations).map(([name, text]) => [
    name,
    text.replaceAll(/\{\{ \$labels\.(\w+) \}\}/g, (_, label: string) => labels[label] ?? ""),
  ]);
  return { exp_labels: { ...rule.labels, ...labels }, exp_annotations: Object.fromEntries(annotations) };
}

function plainText(xml: string): string {
  return xml
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll(/&#x([0-9A-F]+);|&#(\d+);/g, (_, hex: string | undefined, decimal: string | undefined) =>
      String.fromCodePoint(hex === undefined ? Number(decimal) : Number.parseInt(hex, 16)),
    )
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");
}

test("each alert of the chart has exactly one case here", () => {
  expect(ALERT_CASES.map(({ alert }) => alert).toSorted()).toEqual(rules.map(({ alert }) => alert).toSorted());
});

test("what is quiet is quiet about series that are there", () => {
  for (const { quiet } of ALERT_CASES) for (const series of Object.values(quiet)) expect(Object.keys(series)).not.toEqual([]);
});

test.for(CHECKS)("$name", ({ name }) => {
  expect(verdicts.get(name)).toBe("");
});

test("each alert's runbook is a heading on the operating page", async () => {
  const page = await readFile(path.join(ROOT, "docs/operating.md"), "utf8");
  const headings = [...page.matchAll(/^#+ (\w+)$/gm)].map(([, heading = ""]) => heading);
  for (const { alert, annotations } of rules) {
    expect(headings).toContain(alert);
    expect(annotations.runbook_url).toBe(`docs/operating.md#${alert.toLowerCase()}`);
  }
});
