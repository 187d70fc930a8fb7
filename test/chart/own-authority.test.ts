import { X509Certificate } from "node:crypto";
import { stringify } from "yaml";
import { afterEach, beforeAll, expect, test, vi } from "vitest";
import * as z from "zod";
import { createKubeClient, type KubeClient } from "../../operator/kube/client.ts";
import { loadFromPod } from "../../operator/kube/credentials.ts";
import { internalCertificatesVariable, type InternalTlsConfig } from "../../operator/internal-tls/config.ts";
import { startCertificateRenewer } from "../../operator/internal-tls/renewer.ts";
import { eventually } from "../support/eventually.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { podsOf } from "./harness-pods.ts";
import { CHART, EXTERNAL_DATABASE, NAME, NAMESPACE, parseObjects, RELEASE } from "./harness-render.ts";
import { HOUR_MS } from "../../contract/days.ts";

/** The authority that the chart makes where nobody else does, on a real API server, and the operator with its own rights. */
const api = useKubeApi();
const PARTS = ["gateway", "operator", "dashboard"] as const;
const PATIENCE = { withinMs: 60_000, everyMs: 100 };
const dataSchema = z.object({ data: z.record(z.string(), z.string()) });

const install = () =>
  api().helm(["upgrade", "--install", RELEASE, CHART, "--namespace", NAMESPACE, "--no-hooks", "--values", "-"], {
    input: stringify(EXTERNAL_DATABASE),
  });

async function dataOf(secret: string): Promise<Record<string, string>> {
  const text = await api().kubectl(["get", "secret", secret, "--namespace", NAMESPACE, "--output", "json"]);
  const entries = Object.entries(dataSchema.parse(JSON.parse(text)).data);
  return Object.fromEntries(entries.map(([name, value]) => [name, Buffer.from(value, "base64").toString()]));
}

const secretOf = (part: string) => `${NAME}-internal-tls-${part}`;
const authority = () => dataOf(`${NAME}-internal-ca`);
const allParts = () => Promise.all(PARTS.map((part) => dataOf(secretOf(part))));

/** What the operator's Deployment tells it. */
async function configFromChart(): Promise<InternalTlsConfig> {
  const name = `${NAME}-operator`;
  const yaml = await api().kubectl(["get", "deployment", name, "--namespace", NAMESPACE, "--output", "yaml"]);
  const [pod] = podsOf(parseObjects(yaml));
  const variables = new Map(pod?.containers[0]?.env.map(({ name: key, value = "" }) => [key, value]));
  const text = (key: string) => variables.get(key) ?? "";
  return {
    authoritySecret: text("INTERNAL_AUTHORITY_SECRET"),
    certificates: internalCertificatesVariable.parse(text("INTERNAL_CERTIFICATES")),
    lifetimeMs: Number(text("INTERNAL_CERTIFICATE_HOURS")) * HOUR_MS,
    renewBeforeMs: Number(text("INTERNAL_CERTIFICATE_RENEW_HOURS")) * HOUR_MS,
  };
}

let client: KubeClient;
beforeAll(async () => {
  await api().kubectl(["create", "namespace", NAMESPACE]);
  await install();
  const { pathPrefix, environment } = await api().mountFor({ namespace: NAMESPACE, name: `${NAME}-operator` });
  for (const [name, value] of Object.entries(environment)) vi.stubEnv(name, value);
  client = createKubeClient({ access: await loadFromPod(pathPrefix), events: { kubeAnswered: () => undefined } });
  return () => client.close();
});

let stop = async () => {};
afterEach(() => stop());

/** The operator's renewer, some hours from now. */
async function renew(hoursFromNow: number) {
  const issued: string[] = [];
  const failures: unknown[] = [];
  const looked = new Set<string>();
  const renewer = startCertificateRenewer(await configFromChart(), {
    client,
    namespace: NAMESPACE,
    isLeader: () => true,
    clock: { nowMs: () => Date.now() + hoursFromNow * HOUR_MS },
    events: {
      internalCertificateIssued: ({ secret, why }) => void issued.push(`${secret}: ${why}`),
      internalCertificateEnd: ({ secret }) => void looked.add(secret),
      internalCertificatesStuck: ({ error }) => void failures.push(error),
    },
    everyMs: 100,
  });
  stop = () => renewer.stop();
  await eventually(() => expect([failures, looked.size]).toEqual([[], 3]), PATIENCE);
  await renewer.stop();
  return issued.sort();
}

/** Each part's certificate is of the authority for its side, and each trusts only the other side's. */
async function expectTrust(): Promise<void> {
  const { "clients.crt": clients = "", "servers.crt": servers = "" } = await authority();
  const parts = await allParts();
  for (const [index, part] of PARTS.entries()) {
    const { "ca.crt": ca, "tls.crt": text = "" } = parts[index] ?? {};
    const certificate = new X509Certificate(text);
    const [own, other] = part === "gateway" ? [clients, servers] : [servers, clients];
    expect(ca).toBe(other);
    expect(certificate.verify(new X509Certificate(own).publicKey)).toBe(true);
    expect(certificate.verify(new X509Certificate(other).publicKey)).toBe(false);
    expect(certificate.subjectAltName).toBe(`DNS:${NAME}-${part}.${NAMESPACE}.svc`);
  }
}

test("a release has an authority for each side and a certificate for each part, which the operator accepts (S43)", async () => {
  await expectTrust();
  expect(await renew(0)).toEqual([]);
});

test("an upgrade keeps them all", async () => {
  const before = [await authority(), await allParts()];
  await install();
  expect([await authority(), await allParts()]).toEqual(before);
});

test("the operator renews certificates before they expire, with the same usages, and an upgrade keeps them", async () => {
  const before = await allParts();
  expect(await renew(61 * 24)).toEqual([...PARTS].sort().map((part) => `${secretOf(part)}: it ends soon`));
  const after = await allParts();
  for (const [index, part] of PARTS.entries()) {
    const certificate = new X509Certificate(after[index]?.["tls.crt"] ?? "");
    expect(certificate.raw).not.toEqual(new X509Certificate(before[index]?.["tls.crt"] ?? "").raw);
    // id-kp-clientAuth, id-kp-serverAuth
    expect(certificate.keyUsage).toEqual([part === "gateway" ? "1.3.6.1.5.5.7.3.2" : "1.3.6.1.5.5.7.3.1"]);
  }
  await expectTrust();
  await install();
  expect(await allParts()).toEqual(after);
  expect(await renew(61 * 24)).toEqual([]);
});

test("certificates that the operator issued while its clock was ahead are replaced once it is right again", async () => {
  expect(await renew(0)).toEqual([...PARTS].sort().map((part) => `${secretOf(part)}: it was issued by a clock that was ahead`));
  await expectTrust();
  expect(await renew(0)).toEqual([]);
});

test("a damaged certificate is replaced", async () => {
  const patch = JSON.stringify({ data: { "tls.crt": Buffer.from("nonsense").toString("base64") } });
  await api().kubectl(["patch", "secret", secretOf("dashboard"), "--namespace", NAMESPACE, "--type=merge", "--patch", patch]);
  expect(await renew(0)).toEqual([`${secretOf("dashboard")}: it cannot be read`]);
  await expectTrust();
});

test("a renderer without access to the cluster gets an error instead of a new authority", async () => {
  const file = "templates/internal-tls/own.yaml";
  const parameters = ["template", RELEASE, CHART, "--namespace", NAMESPACE, "--values", "-", "--show-only", file];
  const rendered = await api().helm(parameters, { input: stringify(EXTERNAL_DATABASE) });
  const [first = ""] = rendered.split(/^---$/m).filter((document) => document.includes("immutable"));
  await expect(api().kubectl(["apply", "--namespace", NAMESPACE, "--filename", "-"], { input: first })).rejects.toThrow(
    "field is immutable",
  );
});

test("an upgrade recreates a deleted authority, with new certificates", async () => {
  await api().kubectl(["delete", "secret", `${NAME}-internal-ca`, "--namespace", NAMESPACE]);
  await install();
  await expectTrust();
  expect(await renew(0)).toEqual([]);
});

test("a rollback past that is refused and does no harm; it restores the earlier authority once the new one is deleted", async () => {
  const rollBack = () => api().helm(["rollback", RELEASE, "1", "--namespace", NAMESPACE, "--no-hooks"]);
  const before = await authority();
  await expect(rollBack()).rejects.toThrow("field is immutable");
  expect(await authority()).toEqual(before);
  // Helm may have restored earlier certificates by then.
  await renew(0);
  await expectTrust();
  await api().kubectl(["delete", "secret", `${NAME}-internal-ca`, "--namespace", NAMESPACE]);
  await rollBack();
  expect(await authority()).not.toEqual(before);
  await renew(0);
  await expectTrust();
});
