import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { parse } from "yaml";
import * as z from "zod";
import { afterAll, beforeAll, expect, test } from "vitest";
import { ROOT } from "../../charts/generate/outputs.ts";
import { readBalance } from "../../ledger/accounts/accounts.ts";
import { freePorts, LOOPBACK } from "../../local/process/ports.ts";
import { startSimulator, type Simulator } from "../../local/simulator/simulator.ts";
import { startEnvoyProcess, type EnvoyProcess } from "../support/stacks/envoy-process.ts";
import { eventually } from "../support/eventually.ts";
import { untilEstablished } from "../support/kube/crds.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { useOwnPostgres } from "../support/billing/postgres.ts";
import { createShell, guideSteps } from "./harness-guide.ts";
import { createNode, type Node } from "./harness-node.ts";
import type { Container, Pod } from "./harness-pods.ts";
import { withSockets } from "./harness-sockets.ts";

const api = useKubeApi();
const postgres = useOwnPostgres();
const NAMESPACE = "gateway-system";
const NAME = "gateway-model-gateway";
const WITHIN = { withinMs: 60_000, everyMs: 200 };
let directory = "";
let node: Node;
let simulator: Simulator;
let envoy: EnvoyProcess | undefined;

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-guide-"));
  await symlink(path.join(ROOT, "charts"), path.join(directory, "charts"));
  node = await createNode(api(), NAMESPACE);
  simulator = await startSimulator({ port: 0 });
});
afterAll(async () => {
  await envoy?.stop();
  await node?.stop();
  await simulator?.close();
  await rm(directory, { recursive: true, force: true });
});

function containerOf(pod: Pod, name: string): Container {
  const container = pod.containers.find((each) => each.name === name);
  if (container === undefined) throw new Error(`${pod.owner} has no container ${name}.`);
  return container;
}

/** The operator's variables, as its Deployment has them. */
async function operatorEnvironment(): Promise<Record<string, string>> {
  const pod = await node.podOf("deployment", `${NAME}-operator`);
  return node.environmentOf(pod, containerOf(pod, "operator"));
}

interface Ports {
  xds: number;
  operatorAdmin: number;
  /** Of the processes of extproc. */
  workers: readonly number[];
  extprocAdmin: number;
  dashboard: number;
  dashboardAdmin: number;
  clients: number;
  envoyAdmin: number;
  envoyStatus: number;
  /** Streams that extproc relays. */
  relayed: number;
  batches: number;
}

/** Starts what the release's pods would run, with this machine's addresses in the place of a pod's own. */
async function startPods(ports: Ports): Promise<void> {
  const operator = await node.podOf("deployment", `${NAME}-operator`);
  const mount = await api().mountFor({ namespace: NAMESPACE, name: `${NAME}-operator` });
  await node.start(containerOf(operator, "operator"), {
    environment: {
      ...(await operatorEnvironment()),
      ...mount.environment,
      KUBE_PATH_PREFIX: mount.pathPrefix,
      // The simulated model server is there.
      BACKEND_ALLOW_CIDRS: "127.0.0.0/8",
      XDS_TLS_DIRECTORY: await node.mountInternalTls(operator, directory),
      XDS_HOST: LOOPBACK,
      XDS_PORT: String(ports.xds),
      ADMIN_HOST: LOOPBACK,
      ADMIN_PORT: String(ports.operatorAdmin),
    },
    readyUrl: `http://${LOOPBACK}:${ports.operatorAdmin}/readyz`,
  });
  const gateway = await node.podOf("statefulset", NAME);
  const extproc = containerOf(gateway, "extproc");
  await node.start(extproc, {
    environment: {
      ...(await node.environmentOf(gateway, extproc)),
      EXTPROC_LISTEN: ports.workers.map((port) => `${LOOPBACK}:${port}`).join(","),
      ADMIN_HOST: LOOPBACK,
      ADMIN_PORT: String(ports.extprocAdmin),
      JOURNAL_DIRECTORY: path.join(directory, "journal"),
    },
    readyUrl: `http://${LOOPBACK}:${ports.extprocAdmin}/readyz`,
  });
  const pages = await node.podOf("deployment", `${NAME}-dashboard`);
  const dashboard = containerOf(pages, "dashboard");
  await node.start(dashboard, {
    environment: {
      ...(await node.environmentOf(pages, dashboard)),
      DASHBOARD_TLS_DIRECTORY: await node.mountInternalTls(pages, directory),
      DASHBOARD_HOST: LOOPBACK,
      DASHBOARD_PORT: String(ports.dashboard),
      ADMIN_HOST: LOOPBACK,
      ADMIN_PORT: String(ports.dashboardAdmin),
    },
    readyUrl: `http://${LOOPBACK}:${ports.dashboardAdmin}/readyz`,
  });
  const config = await api().kubectl(["get", "configmap", `${NAME}-envoy`, "--namespace", NAMESPACE, "--output", "json"]);
  const { data } = z.object({ data: z.record(z.string(), z.string()) }).parse(JSON.parse(config));
  const certificates = await node.mountInternalTls(gateway, directory);
  const here = (text = "") => text.replaceAll("/etc/internal-tls", certificates).replaceAll("/etc/envoy/", `${directory}/`);
  for (const name of ["internal-certificate.yaml", "internal-authority.yaml"])
    await writeFile(path.join(directory, name), here(data[name]));
  const at = (port: number) => ({ host: LOOPBACK, port });
  const addresses = new Map([
    [8080, at(ports.clients)],
    ...ports.workers.map((port, index) => [9010 + index, at(port)] as const),
    [9004, at(ports.xds)],
    [8090, at(ports.dashboard)],
    [9901, at(ports.envoyAdmin)],
    [9902, at(ports.envoyStatus)],
    [9903, at(ports.relayed)],
    [9904, at(ports.batches)],
  ]);
  const bootstrap = z.record(z.string(), z.unknown()).parse(withSockets(parse(here(data["envoy.yaml"])), addresses));
  envoy = await startEnvoyProcess({ bootstrap, adminPort: ports.envoyAdmin, accessLogPath: "" });
}

test("the guide's commands lead from nothing to the first paid request", { timeout: 300_000 }, async () => {
  const { url, database } = await postgres.empty();
  const [xds = 0, operatorAdmin = 0, extprocAdmin = 0, dashboard = 0, dashboardAdmin = 0] = await freePorts(5);
  const workers = await freePorts(2);
  const [clients = 0, envoyAdmin = 0, envoyStatus = 0, relayed = 0, batches = 0] = await freePorts(5);
  const shell = await createShell(api(), {
    directory,
    variables: { DATABASE_URL: url, PROVIDER_KEY: "provider-key", GATEWAY_URL: `http://${LOOPBACK}:${clients}` },
    execEnvironment: () => operatorEnvironment().catch(() => ({})),
  });
  const steps = await guideSteps();
  expect(steps).toHaveLength(6);
  const [prepare = "", install = "", backUp = "", model = "", account = "", request = ""] = steps;

  await shell.run(prepare);
  // Helm waits for the Job: the migration has run before anything else is there.
  const [notes] = await Promise.all([shell.run(install), node.runJob(`${NAME}-migrate`)]);
  expect(notes).toContain("Base URL: https://gateway.example\n");
  await untilEstablished(api());
  await shell.run(backUp);
  expect((await stat(path.join(directory, "pepper-backup.yaml"))).mode & 0o777).toBe(0o600);
  const programs = { xds, operatorAdmin, workers, extprocAdmin, dashboard, dashboardAdmin };
  await startPods({ ...programs, clients, envoyAdmin, envoyStatus, relayed, batches });

  // The one thing that is not word for word: the model server that stands for the reader's own.
  await shell.run(model.replace("https://provider.example/v1", `${simulator.url}/v1`));
  const output = await shell.run(account);
  expect(output).toContain("Granted 20.000000000 USD.\n");
  await eventually(() => api().kubectl(["get", "secret", "my-key", "--namespace", "team-a"]), WITHIN);

  // A key is known everywhere within a second, and a Model once Envoy has it.
  const answers = await eventually(() => shell.run(request), WITHIN);
  expect(answers).toContain('"object":"chat.completion"');
  expect(answers).toContain('"object":"balance"');
  await eventually(
    async () => expect((await readBalance(database, "team-a")).postedNanoUsd).toBeLessThan(20_000_000_000n),
    WITHIN,
  );

  const prices = await (await fetch(`http://${LOOPBACK}:${clients}/dashboard/models`)).text();
  expect(prices).toContain("modelx-v4-pro");

  // The chart's Roles are enough for all of that.
  const metrics = await (await fetch(`http://${LOOPBACK}:${operatorAdmin}/metrics`)).text();
  expect(metrics).toMatch(/^rest_client_requests_total\{.*code="20\d"/m);
  expect(metrics).not.toContain('code="403"');
});

test("an upgrade runs the migration again, which has nothing to do", async () => {
  const get = (resource: string, output: string) =>
    api().kubectl(["get", resource, "--namespace", NAMESPACE, "--output", `jsonpath={${output}}`]);
  // A migration that succeeded leaves no Job behind.
  await expect(get(`job/${NAME}-migrate`, ".metadata.uid")).rejects.toThrow("not found");
  const chart = path.join(ROOT, "charts/model-gateway");
  const upgrade = api().helm(["upgrade", "gateway", chart, "--namespace", NAMESPACE, "--reset-then-reuse-values"]);
  await Promise.all([upgrade, node.runJob(`${NAME}-migrate`)]);
  expect(await get(`statefulset/${NAME}`, ".metadata.generation")).toBe("1");
});
