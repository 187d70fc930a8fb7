import { Registry } from "prom-client";
import { expect, test } from "vitest";
import * as z from "zod";
import { readComplaint } from "../../../local/process/complaint.ts";
import { createOperatorEvents } from "../../../operator/events.ts";
import { captureLog } from "../../support/stacks/log.ts";

const lineSchema = z.looseObject({ level: z.string(), msg: z.string(), failures: z.number() });

function start() {
  const { log, lines } = captureLog();
  const metrics = new Registry();
  const events = createOperatorEvents({ log, metrics });
  return { events, metrics, logged: () => lines.map((line) => lineSchema.parse(JSON.parse(line))) };
}

const error = new Error("connection refused");

test("repeated rollout failures are logged once and counted each time, and their end is logged", async () => {
  const { events, metrics, logged } = start();
  for (let each = 0; each < 20; each++) events.rolloutFailed({ error, retryMs: 500 });
  events.rolloutSucceeded();
  events.rolloutSucceeded();
  expect(logged()).toMatchObject([
    { level: "warn", msg: "failed to apply the resources; retrying", failures: 1 },
    { level: "info", msg: "resources can be applied again", failures: 20 },
  ]);
  expect(await metrics.metrics()).toContain('gateway_operator_rollouts_total{outcome="failed"} 20');
});

test("a source that repeatedly cannot be read is logged once, by name, and so is its end", () => {
  const { events, logged } = start();
  for (let each = 0; each < 20; each++) events.sourceUnreadable({ source: "the Kubernetes API", error });
  events.sourceReadable();
  events.sourceUnreadable({ source: "the Kubernetes API", error });
  expect(logged()).toMatchObject([
    { level: "warn", source: "the Kubernetes API", failures: 1 },
    { level: "info", failures: 20 },
    { level: "warn", failures: 1 },
  ]);
});

test("the screen of a local start shows that manifests are valid again", () => {
  const { log, lines } = captureLog();
  const events = createOperatorEvents({ log, metrics: new Registry() });
  events.fileRecovered({ file: "a.yaml" });
  events.modelRecovered({ key: "default/one", line: "a.yaml: Model one is valid again" });
  expect(lines.map(readComplaint)).toEqual([
    { message: "a.yaml is valid again" },
    { message: "a.yaml: Model one is valid again" },
  ]);
});
