import { expect, test } from "vitest";
import * as z from "zod";
import { INTERNAL_TLS } from "../../charts/generate/bootstrap.ts";
import { useHelm } from "../support/kube/use-helm.ts";
import { podsOf } from "./harness-pods.ts";
import { EXTERNAL_DATABASE, NAME, NAMESPACE, only, render, type KubeObject, type Values } from "./harness-render.ts";

const helm = useHelm();
const WITH_CERT_MANAGER = { ...EXTERNAL_DATABASE, internalTls: { certManager: { enabled: true } } };
const certificateSchema = z.object({
  spec: z.object({
    secretName: z.string(),
    issuerRef: z.object({ name: z.string() }),
    dnsNames: z.array(z.string()).default([]),
    usages: z.array(z.string()).default([]),
  }),
});
const volumesSchema = z.object({
  volumes: z.array(z.object({ name: z.string(), secret: z.object({ secretName: z.string() }).optional() })),
});
const mountsSchema = z.object({
  name: z.string(),
  volumeMounts: z.array(z.object({ name: z.string(), mountPath: z.string(), readOnly: z.boolean().optional() })),
});

/** By pod, the Secret that it has for this, and the containers that see it. */
function secretsOf(objects: readonly KubeObject[]): Record<string, { secret: string | undefined; containers: string[] }> {
  return Object.fromEntries(
    podsOf(objects).flatMap(({ owner, spec, containers }) => {
      const volume = volumesSchema
        .partial()
        .parse(spec)
        .volumes?.find(({ name }) => name === "internal-tls");
      if (volume === undefined) return [];
      const seeing = containers
        .map((container) => mountsSchema.parse(container))
        .filter(({ volumeMounts }) => volumeMounts.some(({ name }) => name === "internal-tls"));
      for (const { volumeMounts } of seeing)
        expect(volumeMounts).toContainEqual({ name: "internal-tls", mountPath: INTERNAL_TLS.directory, readOnly: true });
      return [[owner, { secret: volume.secret?.secretName, containers: seeing.map(({ name }) => name) }]];
    }),
  );
}

function directoriesOf(objects: readonly KubeObject[]): string[] {
  return podsOf(objects).flatMap(({ containers }) =>
    containers.flatMap(({ env }) =>
      env.flatMap(({ name, value }) => (name.endsWith("_TLS_DIRECTORY") ? [`${name}=${value}`] : [])),
    ),
  );
}

test("cert-manager issues an authority for the release, and a certificate for each part with only the usage it needs", async () => {
  const objects = await render(helm(), WITH_CERT_MANAGER);
  expect(only(objects, "Issuer", `${NAME}-internal`)).toMatchObject({
    spec: { ca: { secretName: `${NAME}-internal-authority` } },
  });
  expect(only(objects, "Certificate", `${NAME}-internal-authority`)).toMatchObject({
    spec: { isCA: true, secretName: `${NAME}-internal-authority`, issuerRef: { name: `${NAME}-internal-root` } },
  });
  const certificate = (part: string) => certificateSchema.parse(only(objects, "Certificate", `${NAME}-internal-${part}`)).spec;
  for (const [part, usage] of [
    ["gateway", "client auth"],
    ["operator", "server auth"],
    ["dashboard", "server auth"],
  ] as const)
    expect(certificate(part)).toMatchObject({
      issuerRef: { name: `${NAME}-internal` },
      dnsNames: [`${NAME}-${part}.${NAMESPACE}.svc`],
      usages: ["digital signature", usage],
    });
  expect(secretsOf(objects)).toEqual({
    [NAME]: { secret: certificate("gateway").secretName, containers: ["envoy"] },
    [`${NAME}-operator`]: { secret: certificate("operator").secretName, containers: ["operator"] },
    [`${NAME}-dashboard`]: { secret: certificate("dashboard").secretName, containers: ["dashboard"] },
  });
  expect(directoriesOf(objects).toSorted()).toEqual([
    `DASHBOARD_TLS_DIRECTORY=${INTERNAL_TLS.directory}`,
    `XDS_TLS_DIRECTORY=${INTERNAL_TLS.directory}`,
  ]);
});

test("the administrator's own Secrets are used as they are, without cert-manager", async () => {
  const existingSecrets = { gateway: "a", operator: "b", dashboard: "c" };
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, internalTls: { existingSecrets } });
  expect(objects.filter(({ apiVersion }) => apiVersion.startsWith("cert-manager.io"))).toEqual([]);
  expect(new Set(Object.values(secretsOf(objects)).map(({ secret }) => secret))).toEqual(new Set(["a", "b", "c"]));
});

const CERT_MANAGER = {
  enabled: true,
  certManager: { enabled: true, issuerRef: { name: "public" }, dnsNames: ["gateway.example"] },
};

test.for<{ name: string; values: Values; isCertManagers: boolean }>([
  { name: "nothing said", values: {}, isCertManagers: false },
  {
    name: "a certificate for clients from a Secret",
    values: { tls: { enabled: true, existingSecret: "certificate" } },
    isCertManagers: false,
  },
  { name: "one from cert-manager", values: { tls: CERT_MANAGER }, isCertManagers: true },
  {
    name: "one from cert-manager, and none from it between the parts",
    values: { tls: CERT_MANAGER, internalTls: { certManager: { enabled: false } } },
    isCertManagers: false,
  },
])("with $name every part has a certificate; cert-manager issues them: $isCertManagers", async ({ values, isCertManagers }) => {
  const objects = await render(helm(), { ...EXTERNAL_DATABASE, ...values });
  expect(Object.keys(secretsOf(objects))).toHaveLength(3);
  expect(directoriesOf(objects)).toHaveLength(2);
  const made = (kind: string) => objects.filter((object) => object.kind === kind && object.metadata.name.includes("-internal-"));
  expect(made("Certificate")).toHaveLength(isCertManagers ? 4 : 0);
  expect(made("Secret")).toHaveLength(isCertManagers ? 0 : 4);
});
