import { stringify } from "yaml";
import * as z from "zod";
import { expect, test } from "vitest";
import { useHelm } from "../support/kube/use-helm.ts";
import { podsOf, type Container, type Pod } from "./harness-pods.ts";
import { EXTERNAL_DATABASE, NAME, only, render, title, type KubeObject, type Values } from "./harness-render.ts";

/** What a platform's administrators set for every chart that they install. */
const helm = useHelm();
const TRIAL = { postgres: { enabled: true } };

const rendered = (values: Values) => render(helm(), { ...EXTERNAL_DATABASE, ...values });

function podOf(objects: readonly KubeObject[], kind: string, name: string): Pod {
  const [pod] = podsOf([only(objects, kind, name)]);
  if (pod === undefined) throw new Error(`${kind} ${name} makes no pods.`);
  return pod;
}

/** Each container of the product's own programs, under its name. */
function programs(objects: readonly KubeObject[]): { pod: Pod; container: Container }[] {
  return [
    { kind: "StatefulSet", name: NAME, container: "extproc" },
    { kind: "Deployment", name: `${NAME}-operator`, container: "operator" },
    { kind: "Deployment", name: `${NAME}-dashboard`, container: "dashboard" },
    { kind: "Job", name: `${NAME}-migrate`, container: "migrate" },
  ].map(({ kind, name, container }) => {
    const pod = podOf(objects, kind, name);
    const found = pod.containers.find((each) => each.name === container);
    if (found === undefined) throw new Error(`${pod.owner} has no container ${container}.`);
    return { pod, container: found };
  });
}

const ACCOUNTS = [
  { component: "gateway", kind: "StatefulSet", workload: NAME, own: NAME },
  { component: "operator", kind: "Deployment", workload: `${NAME}-operator`, own: `${NAME}-operator` },
  { component: "dashboard", kind: "Deployment", workload: `${NAME}-dashboard`, own: `${NAME}-dashboard` },
  { component: "migration", kind: "Job", workload: `${NAME}-migrate`, own: `${NAME}-migration` },
] as const;

test.for(ACCOUNTS)("the ServiceAccount of $component: its own, named, annotated, or an existing one", async (given) => {
  const { component, kind, workload, own } = given;
  const accounts = (objects: readonly KubeObject[]) => objects.filter((object) => object.kind === "ServiceAccount");
  const nameIn = (objects: readonly KubeObject[]) => podOf(objects, kind, workload).spec["serviceAccountName"];

  const byDefault = await rendered({});
  expect(nameIn(byDefault)).toBe(own);
  expect(only(byDefault, "ServiceAccount", own)).toMatchObject({ automountServiceAccountToken: false });

  const annotations = { "iam.example/role": "reader" };
  const named = await rendered({ [component]: { serviceAccount: { name: "cloud", annotations } } });
  expect(nameIn(named)).toBe("cloud");
  expect(only(named, "ServiceAccount", "cloud").metadata.annotations).toMatchObject(annotations);

  const others = await rendered({ [component]: { serviceAccount: { create: false, name: "cloud" } } });
  expect(nameIn(others)).toBe("cloud");
  expect(accounts(others).map(({ metadata }) => metadata.name)).toEqual(
    accounts(byDefault)
      .map(({ metadata }) => metadata.name)
      .filter((name) => name !== own),
  );
});

test("without a created or named ServiceAccount, the namespace's default is used", async () => {
  const objects = await rendered({ dashboard: { serviceAccount: { create: false } } });
  expect(podOf(objects, "Deployment", `${NAME}-dashboard`).spec["serviceAccountName"]).toBe("default");
});

test("the migration's ServiceAccount exists before its Job, and is no hook next to a trial's Postgres", async () => {
  const annotations = async (values: Values) =>
    only(await render(helm(), values), "ServiceAccount", `${NAME}-migration`).metadata.annotations ?? {};
  expect(await annotations(EXTERNAL_DATABASE)).toMatchObject({
    "helm.sh/hook": "pre-install,pre-upgrade",
    "helm.sh/hook-weight": "-5",
  });
  expect(await annotations(TRIAL)).toEqual({});
});

test("the operator's rights follow its ServiceAccount", async () => {
  const objects = await rendered({ operator: { serviceAccount: { name: "cloud" } } });
  const subjects = objects
    .filter(({ kind }) => kind.endsWith("RoleBinding"))
    .flatMap((object) => z.object({ subjects: z.array(z.object({ name: z.string() })) }).parse(object).subjects);
  expect(subjects).toHaveLength(4);
  expect(new Set(subjects.map(({ name }) => name))).toEqual(new Set(["cloud"]));
});

test("common labels are on every object and pod, and replace none of the chart's own", async () => {
  const objects = await render(helm(), {
    ...TRIAL,
    commonLabels: { "example.org/owner": "platform", "app.kubernetes.io/name": "other" },
    gateway: { podLabels: { "example.org/owner": "gateway-team", "app.kubernetes.io/component": "other" } },
    monitoring: { serviceMonitor: { enabled: true, labels: { release: "prometheus" } }, prometheusRule: { enabled: true } },
  });
  const usual = await render(helm(), TRIAL);
  for (const object of objects) expect(object.metadata.labels, title(object)).toMatchObject({ "example.org/owner": "platform" });
  // The definitions are of no single release, and so have no labels of one.
  for (const object of objects.filter(({ kind }) => kind !== "CustomResourceDefinition"))
    expect(object.metadata.labels?.["app.kubernetes.io/name"], title(object)).toBe("model-gateway");
  const labelled = z.object({ metadata: z.object({ labels: z.record(z.string(), z.string()) }) });
  const pods = podsOf(objects).map(({ owner, object }) => ({ owner, labels: labelled.parse(object).metadata.labels }));
  for (const { owner, labels } of pods)
    expect(labels["example.org/owner"], owner).toBe(owner === NAME ? "gateway-team" : "platform");
  expect(pods.find(({ owner }) => owner === NAME)?.labels["app.kubernetes.io/component"]).toBe("gateway");
  // Selectors cannot be changed by an upgrade.
  const selectorOf = (from: readonly KubeObject[]) =>
    z
      .object({ spec: z.object({ selector: z.unknown(), volumeClaimTemplates: z.unknown() }) })
      .parse(only(from, "StatefulSet", NAME)).spec;
  expect(selectorOf(objects)).toEqual(selectorOf(usual));
});

test("extra objects belong to the release, written as objects or as text, with their expressions evaluated", async () => {
  const objects = await rendered({
    extraObjects: [
      { apiVersion: "v1", kind: "ConfigMap", metadata: { name: "{{ .Release.Name }}-a" }, data: { value: "1" } },
      'apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ include "model-gateway.fullname" . }}-b\n',
    ],
  });
  expect(only(objects, "ConfigMap", "gw-a")).toMatchObject({ data: { value: "1" } });
  only(objects, "ConfigMap", `${NAME}-b`);
});

test("extra volumes, mounts and variables reach the intended container", async () => {
  const files = (name: string) => ({
    extraVolumes: [{ name, emptyDir: {} }],
    extraVolumeMounts: [{ name, mountPath: `/mnt/${name}` }],
  });
  const env = (name: string) => ({ extraEnv: [{ name: "MORE", value: name }] });
  const objects = await rendered({
    gateway: {
      extraVolumes: [
        { name: "for-envoy", emptyDir: {} },
        { name: "for-extproc", emptyDir: {} },
      ],
      envoy: { extraVolumeMounts: files("for-envoy").extraVolumeMounts },
      extproc: { extraVolumeMounts: files("for-extproc").extraVolumeMounts, ...env("extproc") },
    },
    operator: { ...files("for-operator"), ...env("operator") },
    dashboard: { ...files("for-dashboard"), ...env("dashboard") },
    migration: { ...files("for-migrate"), ...env("migrate") },
  });
  const envoy = podOf(objects, "StatefulSet", NAME).containers.find(({ name }) => name === "envoy");
  expect(envoy?.["volumeMounts"]).toContainEqual({ name: "for-envoy", mountPath: "/mnt/for-envoy" });
  expect(JSON.stringify(envoy)).not.toContain("for-extproc");
  for (const { pod, container } of programs(objects)) {
    const name = `for-${container.name}`;
    expect(container["volumeMounts"], pod.owner).toContainEqual({ name, mountPath: `/mnt/${name}` });
    expect(pod.spec["volumes"], pod.owner).toContainEqual({ name, emptyDir: {} });
    expect(container.env, pod.owner).toContainEqual({ name: "MORE", value: container.name });
  }
});

test.for([
  { name: "a ConfigMap", trustedCa: { configMap: "roots" }, source: { configMap: { name: "roots" } }, key: "ca.crt" },
  {
    name: "a Secret",
    trustedCa: { secret: "roots", key: "all.pem" },
    source: { secret: { secretName: "roots" } },
    key: "all.pem",
  },
])("every program trusts the authorities in $name", async ({ trustedCa, source, key }) => {
  for (const { pod, container } of programs(await rendered({ trustedCa }))) {
    const file = { name: "NODE_EXTRA_CA_CERTS", value: `/etc/trusted-ca/${key}` };
    expect(
      container.env.filter(({ name }) => name === file.name),
      pod.owner,
    ).toEqual([file]);
    expect(container["volumeMounts"], pod.owner).toContainEqual({
      name: "trusted-ca",
      mountPath: "/etc/trusted-ca",
      readOnly: true,
    });
    expect(pod.spec["volumes"], pod.owner).toContainEqual({ name: "trusted-ca", ...source });
  }
});

test("the database's authority is trusted only for the database", async () => {
  const database = { existingSecret: "ledger-app", tls: { mode: "verify-full", caSecret: "ledger-ca" } };
  for (const { pod, container } of programs(await rendered({ database }))) {
    const variables = new Map(container.env.map(({ name, value }) => [name, value]));
    expect(variables.get("PGSSLROOTCERT"), pod.owner).toBe("/etc/database-ca/ca.crt");
    expect(variables.has("NODE_EXTRA_CA_CERTS"), pod.owner).toBe(false);
    expect(pod.spec["volumes"], pod.owner).toContainEqual({ name: "database-ca", secret: { secretName: "ledger-ca" } });
  }
});

test("the database's authority and the platform's can be combined", async () => {
  const database = { existingSecret: "ledger-app", tls: { mode: "verify-full", caSecret: "ledger-ca" } };
  for (const { pod, container } of programs(await rendered({ database, trustedCa: { configMap: "roots" } })))
    expect(
      container.env.filter(({ name }) => /CERTS?$/.test(name)).map(({ name, value }) => [name, value]),
      pod.owner,
    ).toEqual([
      ["PGSSLROOTCERT", "/etc/database-ca/ca.crt"],
      ["NODE_EXTRA_CA_CERTS", "/etc/trusted-ca/ca.crt"],
    ]);
});

test.for(["disable", "no-verify"])(
  "with mode %s, an authority does not enable verification of Postgres' certificate",
  async (mode) => {
    const database = { existingSecret: "ledger-app", tls: { mode, caSecret: "ledger-ca" } };
    for (const { pod, container } of programs(await rendered({ database })))
      expect(
        container.env.map(({ name }) => name),
        pod.owner,
      ).not.toContain("PGSSLROOTCERT");
  },
);

const imagesOf = (objects: readonly KubeObject[]) =>
  new Set(podsOf(objects).flatMap(({ containers }) => containers.map(({ image }) => image)));

test("images of other projects have full names", async () => {
  const images = [...imagesOf(await render(helm(), TRIAL))].filter((image) => !image.startsWith("model-gateway:"));
  expect(images.map((image) => image.split("/")[0])).toEqual(["docker.io", "docker.io"]);
});

test("global.imageRegistry is the registry of every image, except those that name their own host", async () => {
  const global = { imageRegistry: "mirror.example:5000/hub" };
  const images = imagesOf(await render(helm(), { ...TRIAL, global }));
  expect(images.size).toBe(3);
  for (const image of images)
    expect(image).toMatch(/^mirror\.example:5000\/hub\/(model-gateway|envoyproxy\/envoy|library\/postgres):/);
  const own = { registry: "images.example", repository: "team/gateway" };
  expect(imagesOf(await rendered({ image: own }))).toContain("images.example/team/gateway:0.1.0");
  expect(imagesOf(await rendered({ image: own, global }))).toContain("mirror.example:5000/hub/team/gateway:0.1.0");
  for (const repository of ["images.example/gateway", "localhost/gateway", "images:5000/gateway"])
    expect(imagesOf(await rendered({ image: { repository }, global }))).toContain(`${repository}:0.1.0`);
});

test("every pod pulls with the release's Secrets and those of global", async () => {
  const objects = await render(helm(), {
    ...TRIAL,
    global: { imagePullSecrets: [{ name: "mirror" }, { name: "both" }] },
    imagePullSecrets: [{ name: "own" }, { name: "both" }],
  });
  const pods = podsOf(objects);
  expect(pods).toHaveLength(6);
  for (const { owner, spec } of pods)
    expect(spec["imagePullSecrets"], owner).toEqual([{ name: "mirror" }, { name: "both" }, { name: "own" }]);
});

const scalerSchema = z.object({ spec: z.object({ metrics: z.array(z.unknown()), behavior: z.unknown().optional() }) });

async function scalerOf(autoscaling: object): Promise<z.infer<typeof scalerSchema>["spec"]> {
  const objects = await rendered({ gateway: { autoscaling } });
  return scalerSchema.parse(only(objects, "HorizontalPodAutoscaler", NAME)).spec;
}

test("the gateway scales by CPU, requests in flight, custom metrics, or all of them", async () => {
  const cpu = {
    type: "ContainerResource",
    containerResource: { container: "extproc", name: "cpu", target: { type: "Utilization", averageUtilization: 65 } },
  };
  const streams = {
    type: "Pods",
    pods: { metric: { name: "gateway_open_streams" }, target: { type: "AverageValue", averageValue: "500" } },
  };
  const own = { type: "Resource", resource: { name: "memory", target: { type: "Utilization", averageUtilization: 80 } } };
  expect(await scalerOf({})).toMatchObject({
    metrics: [cpu],
    behavior: { scaleDown: { stabilizationWindowSeconds: 600 } },
  });
  expect((await scalerOf({ targetOpenStreams: 500, metrics: [own] })).metrics).toEqual([cpu, streams, own]);
  expect((await scalerOf({ targetCpuPercent: 0, targetOpenStreams: 500 })).metrics).toEqual([streams]);
  const behavior = { scaleDown: { stabilizationWindowSeconds: 60 }, scaleUp: { stabilizationWindowSeconds: 30 } };
  expect((await scalerOf({ behavior })).behavior).toEqual(behavior);
});

test("if something else scales the gateway, the chart sets no number of pods", async () => {
  const replicas = async (autoscaling: object) => {
    const objects = await rendered({ gateway: { replicas: 3, autoscaling } });
    expect(objects.filter(({ kind }) => kind === "HorizontalPodAutoscaler")).toEqual([]);
    return z.object({ spec: z.object({ replicas: z.number().optional() }) }).parse(only(objects, "StatefulSet", NAME)).spec
      .replicas;
  };
  expect(await replicas({ enabled: false })).toBe(3);
  expect(await replicas({ enabled: false, external: true })).toBeUndefined();
});

test("Services have metrics ports only for ServiceMonitors, which scrape at the configured interval", async () => {
  const text = async (values: Values) => stringify((await rendered(values)).filter(({ kind }) => kind.startsWith("Service")));
  expect(await text({})).not.toContain("-admin");
  const monitored = await text({ monitoring: { serviceMonitor: { enabled: true, interval: "15s", labels: { release: "p" } } } });
  expect(monitored.match(/interval: 15s/g)).toHaveLength(4);
  expect(monitored.match(/release: p$/gm)).toHaveLength(3);
  for (const port of ["extproc-admin", "operator-admin", "dashboard-admin"]) expect(monitored).toContain(`name: ${port}\n`);
});
