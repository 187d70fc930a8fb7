import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { rootCertificates } from "node:tls";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { MAX_REQUEST_BYTES } from "../../../contract/headers.ts";
import { catalogueModelSchema } from "../../../contract/catalogue.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { freePort } from "../../../local/process/ports.ts";
import type { TrustedRoots } from "../../../operator/model/usable-roots.ts";
import { startOperator } from "../../../operator/operator.ts";
import { buildBootstrap } from "../../../operator/bootstrap/bootstrap.ts";
import { parseExtraRoots } from "../../../runtime/extra-roots.ts";
import { createLifecycle } from "../../../runtime/lifecycle.ts";
import { createLog } from "../../../runtime/log.ts";
import { startEnvoyProcess } from "../../support/stacks/envoy-process.ts";
import { eventually } from "../../support/eventually.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";
import { makeCertificates, withBadDate, withLongLength } from "../../support/servers/tls-certificates.ts";
import { startRecordingUpstream } from "../../support/servers/recording-upstream.ts";
import { startScriptedExtproc, type Script } from "../../support/servers/scripted-extproc.ts";

/** The whole operator: manifests in a folder, a real Postgres and a real Envoy. */
const postgres = useOwnPostgres();

const manifest = (url: string, key: string) => `
apiVersion: modelgateway.dev/v1alpha1
kind: Model
metadata: { name: modelx }
spec:
  modelName: modelx
  pricing: { inputPerMillion: "1", outputPerMillion: "2" }
  backends: [{ name: primary, protocol: ChatCompletions, url: "${url}", credentialRef: { name: provider } }]
---
apiVersion: v1
kind: Secret
metadata: { name: provider }
stringData: { api-key: ${key} }
`;

async function startStage({ roots = { pem: "", extra: { usable: [], unusable: [] } } }: { roots?: TrustedRoots } = {}) {
  const { database, url: databaseUrl } = await postgres.migrated();
  const directory = await mkdtemp(join(tmpdir(), "gateway-operator-"));
  const logLines: string[] = [];
  const log = createLog({ process: "operator", level: "info" }, { write: (line) => void logLines.push(line) });
  const scripts = new Map<string, Script>();
  const extproc = await startScriptedExtproc(scripts);
  const upstream = await startRecordingUpstream();
  const save = (text: string) => writeFile(join(directory, "models.yaml"), text);
  await save(manifest(`http://127.0.0.1:${upstream.port}/v1`, "first-key"));

  const xdsSocket = join(directory, "sockets", "xds.sock");
  const lifecycle = createLifecycle(log);
  const { ports } = await startOperator(
    {
      databaseUrl,
      source: { kind: "folder", manifests: directory, localUpstreams: {} },
      xds: { path: xdsSocket },
      admin: { host: "127.0.0.1", port: 0 },
      roots,
      backends: { allowPrivate: false, allowCidrs: ["127.0.0.0/8", "::1/128"], allowNamespaces: [] },
      graceMs: 300,
    },
    { log, droppedLines: () => 0, lifecycle },
  );
  const [port, adminPort] = [await freePort(), await freePort()];
  const accessLogPath = join(directory, "access.log");
  const bootstrap = buildBootstrap({
    nodeId: "envoy",
    listen: { host: "127.0.0.1", port },
    admin: { host: "127.0.0.1", port: adminPort },
    extproc: [{ host: "127.0.0.1", port: extproc.port }],
    xds: { path: xdsSocket },
    maxRequestBytes: MAX_REQUEST_BYTES,
    accessLogPath,
  });
  const envoy = await startEnvoyProcess({ bootstrap, adminPort, accessLogPath });
  onTestFinished(async () => {
    await envoy.stop();
    await lifecycle.shutdown("the test is over");
    extproc.stop();
    await upstream.stop();
    await rm(directory, { recursive: true });
  });

  /** Sends a request by way of the cluster that the catalogue names, as the processor would. */
  async function request(cluster: string) {
    scripts.set("go", { kind: "route", cluster });
    const headers = { "x-script": "go", authorization: "Bearer the-client's" };
    return (await fetch(`http://127.0.0.1:${port}/v1/chat/completions`, { method: "POST", body: "{}", headers })).status;
  }
  return { database, envoy, logLines, upstream, save, request, adminUrl: `http://127.0.0.1:${ports.admin}` };
}

async function catalogue(database: Database) {
  const row = z.object({ spec: catalogueModelSchema });
  const rows = await database.query({ text: "SELECT spec FROM model WHERE withdrawn_at IS NULL ORDER BY name", row });
  return rows.map(({ spec }) => spec);
}

/** The cluster that the catalogue names for its one Model. */
async function clusterOf(database: Database): Promise<string> {
  const [model] = await catalogue(database);
  return model?.backends[0]?.cluster ?? "";
}

test("a saved manifest is in the catalogue and in Envoy; an edit changes both, and the old cluster is removed last", async () => {
  const { database, envoy, upstream, save, request, adminUrl } = await startStage();
  await eventually(async () => expect((await fetch(`${adminUrl}/readyz`)).status).toBe(200));
  const first = await clusterOf(database);
  expect(first).toMatch(/^model\/modelx\/primary\/[0-9a-f]{8}$/);
  await eventually(async () => expect(await request(first)).toBe(200));
  expect(upstream.requests.at(-1)?.headers.authorization).toBe("Bearer first-key");

  await save(manifest(`http://127.0.0.1:${upstream.port}/v1`, "second-key"));
  await eventually(async () => {
    await request(first);
    expect(upstream.requests.at(-1)?.headers.authorization).toBe("Bearer second-key");
  });
  expect(await clusterOf(database)).toBe(first);

  await save(manifest(`http://localhost:${upstream.port}/v1`, "second-key"));
  const second = await eventually(async () => {
    const cluster = await clusterOf(database);
    expect(cluster).not.toBe(first);
    return cluster;
  });
  // The catalogue changes only after Envoy's ACK.
  expect(await envoy.admin("/clusters")).toContain(second);
  await eventually(async () => expect(await request(second)).toBe(200));
  await eventually(async () => expect(await envoy.admin("/clusters")).not.toContain(first));
});

test("an invalid manifest is rejected with a message and changes neither; deleting its Secret withdraws the Model", async () => {
  const { database, logLines, upstream, save, request } = await startStage();
  const first = await eventually(async () => {
    const cluster = await clusterOf(database);
    expect(cluster).not.toBe("");
    return cluster;
  });
  await save(manifest(`http://127.0.0.1:${upstream.port}/v1?key=x`, "very-secret"));
  await eventually(() =>
    expect(logLines.join("")).toContain(
      "models.yaml: Model modelx: spec.backends[0].url must not contain a query or a fragment; if the server requires api-version, set apiVersion; the last valid version stays in force",
    ),
  );
  await eventually(async () => expect(await request(first)).toBe(200));
  expect(await clusterOf(database)).toBe(first);

  await save(manifest(`http://127.0.0.1:${upstream.port}/v1`, "very-secret").split("---")[0] ?? "");
  await eventually(async () => expect(await catalogue(database)).toEqual([]));
  await eventually(() =>
    expect(logLines.join("")).toContain(
      "models.yaml: Model modelx: SecretNotFound: backend primary: there is no Secret default/provider",
    ),
  );
  expect(logLines.join("")).not.toContain("very-secret");
});

test("a Model with certificates that only Node.js can read stops no other Model, and is served once they are corrected", async () => {
  const { database, logLines, upstream, save } = await startStage();
  await eventually(async () => expect(await clusterOf(database)).not.toBe(""));
  const first = await clusterOf(database);
  const { ca } = await makeCertificates("models.example.com");
  const withPrivate = (pem: string) => `
---
apiVersion: modelgateway.dev/v1alpha1
kind: Model
metadata: { name: private }
spec:
  modelName: private
  pricing: { inputPerMillion: "1", outputPerMillion: "2" }
  backends: [{ name: a, protocol: Messages, url: "https://127.0.0.1:${upstream.port}", tls: { caSecretRef: { name: authority } } }]
---
apiVersion: v1
kind: Secret
metadata: { name: authority }
data: { ca.crt: ${Buffer.from(pem).toString("base64")} }
`;
  const changed = manifest(`http://localhost:${upstream.port}/v1`, "first-key");
  await save(changed + withPrivate(withLongLength(ca)));
  const names = async () => (await catalogue(database)).map(({ name, backends }) => `${name} ${backends.length}`);
  await eventually(() =>
    expect(logLines.join("")).toMatch(
      /Model private: InvalidCertificate: backend a: Envoy rejects the certificates of roots\/default\/authority\/ca.crt: Failed to load/,
    ),
  );
  await eventually(async () => expect(await names()).toEqual(["modelx 1"]));
  await save(manifest(`http://127.0.0.1:${upstream.port}/v1`, "first-key") + withPrivate(withLongLength(ca)));
  await eventually(async () => expect((await catalogue(database))[0]?.backends[0]?.cluster).toBe(first));
  await save(changed + withPrivate(ca));
  await eventually(async () => expect(await names()).toEqual(["modelx 1", "private 1"]));
});

test("an added root that Envoy cannot read takes away no other one, stops no Model, and is named", async () => {
  const certificates = await Promise.all(["one", "two", "three", "four"].map((name) => makeCertificates(name)));
  const [first = "", second = "", third = "", fourth = ""] = certificates.map(({ ca }) => ca);
  const extra = parseExtraRoots(
    [first, withBadDate(second), third, "-----BEGIN CERTIFICATE-----\ncut off", withBadDate(fourth)].join("\n"),
  );
  const { database, envoy, logLines, adminUrl, upstream, save } = await startStage({
    roots: { pem: rootCertificates.join("\n"), extra },
  });
  await save(manifest(`https://127.0.0.1:${upstream.port}/v1`, "first-key"));
  await eventually(() => {
    expect(logLines.join("")).toMatch(
      /NODE_EXTRA_CA_CERTS: certificate 2 \(line \d+, CN=test authority\) is not used: Envoy rejects it: Failed to load/,
    );
    expect(logLines.join("")).toMatch(
      /NODE_EXTRA_CA_CERTS: certificate 5 \(line \d+, CN=test authority\) is not used: Envoy rejects it: Failed to load/,
    );
    expect(logLines.join("")).toMatch(/NODE_EXTRA_CA_CERTS: certificate 4 \(line \d+\) is not used: error:/);
  });
  expect(logLines.join("")).not.toContain("CRL");
  for (const at of [1, 3]) expect(logLines.join("")).not.toContain(`certificate ${at} (`);
  await eventually(async () =>
    expect(await (await fetch(`${adminUrl}/metrics`)).text()).toContain("gateway_operator_unusable_roots 3"),
  );
  const hostOf = async () => (await catalogue(database))[0]?.backends[0]?.cluster;
  const before = await hostOf();
  await save(manifest(`https://localhost:${upstream.port}/v1`, "first-key"));
  await eventually(async () => expect(await hostOf()).not.toBe(before));
  const held =
    (await envoy.admin("/config_dump?resource=dynamic_active_secrets")).split("-----BEGIN CERTIFICATE-----").length - 1;
  expect(held).toBe(rootCertificates.length + 2);
});

test("a manifest with an internal backend is rejected with a message unless it is allowed (docs/security.md)", async () => {
  const { database, logLines, save, upstream } = await startStage();
  await eventually(async () => expect(await clusterOf(database)).not.toBe(""));
  for (const [url, words] of [
    ["http://169.254.169.254/v1", "169.254.169.254 is a link-local address"],
    ["http://[::ffff:10.0.0.1]:8000/v1", "::ffff:a00:1 is a reserved address"],
  ] as const) {
    await save(manifest(url, "a-key"));
    await eventually(() =>
      expect(logLines.join("")).toContain(`Model modelx: AddressNotAllowed: backend primary: url: ${words}`),
    );
    await eventually(async () => expect(await catalogue(database)).toEqual([]));
  }
  await save(manifest(`http://modelx.localhost:${upstream.port}/v1`, "a-key"));
  await eventually(async () => expect(await clusterOf(database)).not.toBe(""));
});
