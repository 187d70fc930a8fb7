import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { expect, onTestFinished, test } from "vitest";
import { CLIENT_TLS, INTERNAL_TLS } from "../../charts/generate/bootstrap.ts";
import { MAX_REQUEST_BYTES } from "../../contract/headers.ts";
import { buildBootstrap } from "../../operator/bootstrap/bootstrap.ts";
import type { EnvoyConfig } from "../../operator/bootstrap/envoy-config.ts";
import { validateBootstrap } from "../support/stacks/envoy-process.ts";
import { useHelm } from "../support/kube/use-helm.ts";
import { makeCertificates } from "../support/servers/tls-certificates.ts";
import { EXTERNAL_DATABASE, NAME, NAMESPACE, only, render, type Values } from "./harness-render.ts";

const helm = useHelm();
const dataSchema = z.object({ data: z.record(z.string(), z.string()) });
const configSchema: z.ZodType<EnvoyConfig> = z.record(z.string(), z.unknown());

async function configMapOf(values: Values): Promise<Record<string, string>> {
  return dataSchema.parse(only(await render(helm(), values), "ConfigMap", `${NAME}-envoy`)).data;
}

/** What Envoy says of the bootstrap, with the certificates that the pod mounts in a directory of this machine. */
async function validate(values: Values): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-chart-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  const { ca, certificate, key } = await makeCertificates("gateway");
  const { "envoy.yaml": bootstrap = "", ...others } = await configMapOf(values);
  const here = (text: string) =>
    text
      .replaceAll(INTERNAL_TLS.directory, directory)
      .replaceAll(CLIENT_TLS.certificateDirectory, directory)
      .replaceAll("/etc/envoy/", `${directory}/`);
  const files = { "ca.crt": ca, "tls.crt": certificate, "tls.key": key, ...others };
  for (const [name, text] of Object.entries(files)) await writeFile(path.join(directory, name), here(text));
  return await validateBootstrap(configSchema.parse(parse(here(bootstrap))));
}

async function bootstrapOf(values: Values): Promise<EnvoyConfig> {
  return configSchema.parse(parse((await configMapOf(values))["envoy.yaml"] ?? ""));
}

const expected = {
  nodeId: `${NAME}-gateway`,
  listen: { host: "0.0.0.0", port: 8080 },
  extproc: [9010, 9011].map((port) => ({ host: "127.0.0.1", port })),
  xds: { host: `${NAME}-operator.${NAMESPACE}.svc`, port: 9004 },
  dashboard: { host: `${NAME}-dashboard.${NAMESPACE}.svc`, port: 8090 },
  admin: { host: "127.0.0.1", port: 9901 },
  earlyAnswers: { host: "127.0.0.1", port: 9903 },
  batches: { host: "127.0.0.1", port: 9904 },
  status: { host: "0.0.0.0", port: 9902 },
  maxRequestBytes: MAX_REQUEST_BYTES,
  maxConnections: 50_000,
  maxHeapBytes: 1_717_986_918,
  internalTls: INTERNAL_TLS,
};
const TLS = { ...EXTERNAL_DATABASE, tls: { enabled: true, existingSecret: "certificate" } };

test("the chart gives Envoy the configuration that the product builds for every Envoy", async () => {
  expect(await bootstrapOf(EXTERNAL_DATABASE)).toEqual(buildBootstrap(expected));
});

test("without a dashboard there is no route to it", async () => {
  const { dashboard: _, ...others } = expected;
  expect(await bootstrapOf({ ...EXTERNAL_DATABASE, dashboard: { enabled: false } })).toEqual(buildBootstrap(others));
});

test("the same with TLS, and with an administrator's own values", async () => {
  const values = { ...TLS, bindAddress: "::", gateway: { envoy: { maxConnections: 1_234_567, maxHeapBytes: 3_435_973_836 } } };
  expect(await bootstrapOf(values)).toEqual(
    buildBootstrap({
      ...expected,
      listen: { host: "::", port: 8080 },
      status: { host: "::", port: 9902 },
      maxConnections: 1_234_567,
      maxHeapBytes: 3_435_973_836,
      clientTls: CLIENT_TLS,
    }),
  );
});

const CPU = [
  { name: "as many as are named", extproc: { workers: 3 }, workers: 3 },
  { name: "one for each core that the limit begins", extproc: { resources: { limits: { cpu: "2500m" } } }, workers: 3 },
  { name: "the limit as a number", extproc: { resources: { limits: { cpu: 2 } } }, workers: 2 },
  { name: "without a limit, the request", extproc: { resources: { requests: { cpu: "4" } } }, workers: 4 },
  { name: "at least two", extproc: { resources: { limits: { cpu: "100m" } } }, workers: 2 },
  { name: "one, if one is named", extproc: { workers: 1 }, workers: 1 },
];

test.for(CPU)("extproc's workers listen where Envoy expects them: $name", async ({ extproc, workers }) => {
  const values = { ...EXTERNAL_DATABASE, gateway: { extproc } };
  const ports = Array.from({ length: workers }, (_, worker) => 9010 + worker);
  const bootstrap = await bootstrapOf(values);
  expect(bootstrap).toEqual(buildBootstrap({ ...expected, extproc: ports.map((port) => ({ host: "127.0.0.1", port })) }));
  expect(await validate(values)).toContain("OK");
  const pod = JSON.stringify(only(await render(helm(), values), "StatefulSet", NAME));
  expect(pod).toContain(`{"name":"EXTPROC_LISTEN","value":"${ports.map((port) => `127.0.0.1:${port}`).join(",")}"}`);
});

const TRACING = { ...EXTERNAL_DATABASE, tracing: { enabled: true, host: "collector.observability.svc", percent: 2.5 } };

test("the same with tracing, and Envoy accepts it", async () => {
  const traces = { host: "collector.observability.svc", port: 4318, percent: 2.5 };
  const bootstrap = await bootstrapOf(TRACING);
  expect(bootstrap).toEqual(buildBootstrap({ ...expected, traces }));
  expect(await validate(TRACING)).toContain("OK");
});

test.for([
  { name: "nothing else said", values: EXTERNAL_DATABASE },
  { name: "TLS towards clients, and where the certificate is", values: TLS },
])("Envoy accepts it: $name", async ({ values }) => {
  expect(await validate(values)).toContain("OK");
});
