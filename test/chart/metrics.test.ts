import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import { parse } from "yaml";
import * as z from "zod";
import { collectDefaultMetrics, Registry } from "prom-client";
import { afterAll, beforeAll, expect, test } from "vitest";
import { createBatchMetrics } from "../../dashboard/batches/metrics.ts";
import { createTraceEvents } from "../../dashboard/traces/events.ts";
import { createOperatorEvents } from "../../operator/events.ts";
import { createKubeEvents } from "../../operator/kube/events.ts";
import { createLog } from "../../runtime/log.ts";
import { startTestStack, type TestStack } from "../support/stacks/stack.ts";
import { ROOT } from "../../charts/generate/outputs.ts";
import { CHART } from "./harness-render.ts";

let stack: TestStack;
let known: Set<string>;

beforeAll(async () => {
  stack = await startTestStack({ workers: 2 });
  const ask = async (url: string) => (await fetch(url)).text();
  // Envoy tells of answers once it has given one.
  await ask(`${stack.baseUrl}/v1/models`);
  const [operator, dashboard] = [new Registry(), new Registry()];
  collectDefaultMetrics({ register: operator });
  createBatchMetrics(dashboard);
  const log = createLog({ process: "test", level: "silent" });
  createOperatorEvents({ log, metrics: operator });
  createKubeEvents({ log, metrics: operator });
  createTraceEvents(dashboard);
  const texts = [
    await ask(`${stack.extprocAdminUrl}/metrics`),
    await ask(`${stack.envoyAdminUrl}/stats/prometheus`),
    await operator.metrics(),
    await dashboard.metrics(),
  ];
  known = new Set(texts.flatMap(namesIn));
});
afterAll(() => stack?.stop());

/** Names of the series that a metric has. */
function namesIn(text: string): string[] {
  return [...text.matchAll(/^# TYPE (\S+) (\S+)$/gm)].flatMap(([, name = "", type]) =>
    type === "histogram" ? [`${name}_bucket`, `${name}_sum`, `${name}_count`] : [name],
  );
}

/** Names of metrics in PromQL: words that no bracket follows, outside of braces, and of no clause. */
function namesInQuery(query: string): string[] {
  const clauses = new Set([
    "by",
    "or",
    "without",
    "le",
    "pod",
    "model",
    "code",
    "class",
    "kind",
    "outcome",
    "namespace",
    "envoy_response_code_class",
  ]);
  const bare = query
    .replaceAll(/\{[^}]*\}/g, "")
    .replaceAll(/\[[^\]]*\]/g, "")
    .replaceAll(/\b(by|without) *\([^)]*\)/g, "");
  return [...bare.matchAll(/\b[a-z_][\w:]*\b(?! *\()/g)].map(([name]) => name).filter((name) => !clauses.has(name));
}

async function queries(): Promise<{ source: string; query: string }[]> {
  const folder = path.join(CHART, "files/dashboards");
  const dashboards = await Promise.all(
    (await readdir(folder)).map(async (file) => {
      const text = await readFile(path.join(folder, file), "utf8");
      return [...text.matchAll(/"expr": ("(?:[^"\\]|\\.)*")/g)].map(([, query = '""']) => ({
        source: file,
        query: String(JSON.parse(query)),
      }));
    }),
  );
  return [...dashboards.flat(), ...(await alerts()).map(({ alert, expr }) => ({ source: alert, query: expr }))];
}

const alertsSchema = z.object({
  groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })),
});

async function alerts() {
  const template = await readFile(path.join(CHART, "files/alerts.yaml"), "utf8");
  const { groups } = alertsSchema.parse(parse(template.replaceAll(/\{\{.*?\}\}/g, "")));
  return groups.flatMap(({ rules }) => rules);
}

test("every metric that an alert or a dashboard uses is exposed by a process", async () => {
  const asked = await queries();
  expect(asked.length).toBeGreaterThan(30);
  for (const { source, query } of asked) {
    const names = namesInQuery(query);
    expect(names.length, `${source}: ${query}`).toBeGreaterThan(0);
    for (const name of names) expect(known, `${source} asks for ${name}`).toContain(name);
  }
});

test("metric names are found anywhere in a query", () => {
  expect(namesInQuery('sum by (le, model) (rate(a_bucket{x="y"}[5m])) / max(b_total{}) > 0.1')).toEqual(["a_bucket", "b_total"]);
});

test("every metric of the gateway is in a dashboard or an alert", async () => {
  const asked = (await queries()).flatMap(({ query }) => namesInQuery(query)).map(baseName);
  const own = [...known].filter((name) => /^(gateway|gen_ai)_/.test(name)).map(baseName);
  // How many requests hold credit is told by how much they hold.
  expect([...new Set(own)].filter((name) => !asked.includes(name))).toEqual(["gateway_open_holds"]);
});

test("every metric of the gateway is on the operating page, and no other", async () => {
  const page = await readFile(path.join(ROOT, "docs/operating.md"), "utf8");
  const documented = [
    ...page.matchAll(
      /`((?:gateway|gen_ai)_(?:\w*_(?:seconds|total|usage|usd|bytes)|(?:open|queued|refused|unreadable|ledger|operator|journal|damaged|descriptors)_\w+))`/g,
    ),
  ];
  const own = [...known].filter((name) => /^(gateway|gen_ai)_/.test(name)).map(baseName);
  expect(new Set(documented.map(([, name]) => name))).toEqual(new Set(own));
});

/** Of a histogram: its name without that of the series. */
function baseName(series: string): string {
  return series.replace(/_(bucket|sum|count)$/, "");
}

test("helm test's program succeeds against a working gateway, with a key and without", async () => {
  const source = await readFile(path.join(CHART, "files/smoke.js"), "utf8");
  const smoke = async (environment: Record<string, string>) =>
    promisify(execFile)(process.execPath, ["--input-type=module", "--eval", source], { env: environment, timeout: 30_000 });
  const { stdout } = await smoke({ GATEWAY_URL: stack.baseUrl, GATEWAY_API_KEY: stack.apiKey });
  expect(stdout.trim().split("\n")).toEqual([
    "ok: a request without a key is a 401",
    "ok: every answer has a request id",
    "ok: the key lists models",
    "ok: the key's account has a balance",
  ]);
  expect((await smoke({ GATEWAY_URL: stack.baseUrl })).stdout).not.toContain("the key");
  await expect(smoke({ GATEWAY_URL: stack.baseUrl, GATEWAY_API_KEY: "sk-mg-wrong" })).rejects.toThrow(
    "failed: the key lists models",
  );
  await expect(smoke({ GATEWAY_URL: stack.simulatorUrl })).rejects.toThrow("failed: a request without a key is a 401");
});
