import { expect, test } from "vitest";
import * as z from "zod";
import { INTERNAL_TLS } from "../../charts/generate/bootstrap.ts";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { podsOf } from "./harness-pods.ts";
import { EXTERNAL_DATABASE, NAME, NAMESPACE, only, render, type KubeObject, type Values } from "./harness-render.ts";

const api = useKubeApi();
const ON = { ...EXTERNAL_DATABASE, internalTls: { enabled: true } };
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

test("a release makes an authority of its own, and a certificate for each part that is for its use alone", async () => {
  const objects = await render(api(), ON);
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

test("Secrets of the administrator's own are used as they are, without cert-manager", async () => {
  const existingSecrets = { gateway: "a", operator: "b", dashboard: "c" };
  const objects = await render(api(), { ...ON, internalTls: { enabled: true, existingSecrets } });
  expect(objects.filter(({ apiVersion }) => apiVersion.startsWith("cert-manager.io"))).toEqual([]);
  expect(new Set(Object.values(secretsOf(objects)).map(({ secret }) => secret))).toEqual(new Set(["a", "b", "c"]));
});

const CERT_MANAGER = {
  enabled: true,
  certManager: { enabled: true, issuerRef: { name: "public" }, dnsNames: ["gateway.example"] },
};

test.for<{ name: string; values: Values; isOn: boolean }>([
  { name: "nothing said", values: {}, isOn: false },
  {
    name: "a certificate for clients from a Secret",
    values: { tls: { enabled: true, existingSecret: "certificate" } },
    isOn: false,
  },
  { name: "one from cert-manager", values: { tls: CERT_MANAGER }, isOn: true },
  {
    name: "one from cert-manager, and switched off",
    values: { tls: CERT_MANAGER, internalTls: { enabled: false } },
    isOn: false,
  },
])("with $name it is on: $isOn", async ({ values, isOn }) => {
  const objects = await render(api(), { ...EXTERNAL_DATABASE, ...values });
  expect(Object.keys(secretsOf(objects))).toHaveLength(isOn ? 3 : 0);
  expect(directoriesOf(objects)).toHaveLength(isOn ? 2 : 0);
  expect(objects.filter(({ kind, metadata }) => kind === "Certificate" && metadata.name.includes("-internal-"))).toHaveLength(
    isOn ? 4 : 0,
  );
});
