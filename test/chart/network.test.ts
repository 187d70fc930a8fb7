import * as z from "zod";
import { describe, expect, test } from "vitest";
import { matcherOf } from "../../runtime/address/cidr.ts";
import { createAddressPolicy } from "../../operator/address/policy.ts";
import { useHelm } from "../support/kube/use-helm.ts";
import { podsOf } from "./harness-pods.ts";
import { NAME, only, render, title, type KubeObject, type Values } from "./harness-render.ts";

const helm = useHelm();
const ALL = {
  postgres: { enabled: true },
  dashboard: { enabled: true },
  monitoring: { podMonitor: { enabled: true } },
} as const;

const labelsSchema = z.record(z.string(), z.string());
const servicePortsSchema = z.object({
  spec: z.object({ ports: z.array(z.object({ name: z.string(), targetPort: z.number() })) }),
});
const serviceMonitorSchema = z.object({
  spec: z.object({ selector: z.object({ matchLabels: labelsSchema }), endpoints: z.array(z.object({ port: z.string() })) }),
});
const portSchema = z.object({ port: z.union([z.number(), z.string()]) });
const serviceSchema = z.object({
  spec: z.object({ selector: labelsSchema, ports: z.array(z.object({ targetPort: z.number() })) }),
});
const peerSchema = z.looseObject({ podSelector: z.object({ matchLabels: labelsSchema }).optional() });
const policySchema = z.object({
  spec: z.object({
    podSelector: z.object({ matchLabels: labelsSchema }),
    policyTypes: z.array(z.string()),
    ingress: z.array(z.object({ ports: z.array(portSchema), from: z.array(peerSchema).optional() })).default([]),
    egress: z.array(z.object({ ports: z.array(portSchema).optional(), to: z.array(peerSchema).optional() })).default([]),
  }),
});
const dnsSchema = z.object({
  spec: z.object({
    egress: z.array(z.object({ ports: z.array(z.object({ port: z.number(), protocol: z.string() })).default([]) })),
  }),
});
const blockSchema = z.object({
  ipBlock: z.object({ cidr: z.string(), except: z.array(z.string()).default([]) }).optional(),
  namespaceSelector: z.record(z.string(), z.unknown()).optional(),
});
const monitorSchema = z.object({
  spec: z.object({
    selector: z.object({ matchLabels: labelsSchema }),
    podMetricsEndpoints: z.array(z.object({ port: z.string() })),
  }),
});
const labelledSchema = z.object({ metadata: z.object({ labels: labelsSchema }) });
const portsSchema = z.object({ ports: z.array(z.object({ name: z.string(), containerPort: z.number() })).default([]) });

interface Opened {
  owner: string;
  labels: Record<string, string>;
  ports: Map<string, number>;
}

/** What each pod opens. */
function opened(objects: readonly KubeObject[]): Opened[] {
  return podsOf(objects).map(({ owner, object, containers }) => ({
    owner,
    labels: labelledSchema.parse(object).metadata.labels,
    ports: new Map(containers.flatMap((each) => portsSchema.parse(each).ports.map((port) => [port.name, port.containerPort]))),
  }));
}

function selectedBy(selector: Record<string, string>, pods: readonly Opened[]): Opened[] {
  return pods.filter(({ labels }) => Object.entries(selector).every(([name, value]) => labels[name] === value));
}

/** The one kind of pod that a selector finds. */
function selected(selector: Record<string, string>, pods: readonly Opened[]): Opened {
  const found = selectedBy(selector, pods);
  expect(found, JSON.stringify(selector)).toHaveLength(1);
  return found[0] ?? { owner: "", labels: {}, ports: new Map() };
}

describe("objects that select pods", () => {
  test("every Service selects pods of one kind, on a port that they open", async () => {
    const objects = await render(helm(), ALL);
    const services = objects.filter(({ kind }) => kind === "Service");
    expect(services).toHaveLength(5);
    for (const service of services) {
      const { selector, ports } = serviceSchema.parse(service).spec;
      const open = [...selected(selector, opened(objects)).ports.values()];
      for (const { targetPort } of ports) expect(open, title(service)).toContain(targetPort);
    }
  });

  test("every PodMonitor finds a port by its name", async () => {
    const objects = await render(helm(), ALL);
    const monitors = objects.filter(({ kind }) => kind === "PodMonitor");
    expect(monitors).toHaveLength(3);
    for (const monitor of monitors) {
      const { selector, podMetricsEndpoints } = monitorSchema.parse(monitor).spec;
      const names = [...selected(selector.matchLabels, opened(objects)).ports.keys()];
      for (const { port } of podMetricsEndpoints) expect(names, title(monitor)).toContain(port);
    }
  });
});

test("every ServiceMonitor finds each of its ports in one Service, with the port that a PodMonitor scrapes", async () => {
  const objects = await render(helm(), { ...ALL, monitoring: { serviceMonitor: { enabled: true } } });
  const monitors = objects.filter(({ kind }) => kind === "ServiceMonitor");
  expect(monitors).toHaveLength(3);
  for (const monitor of monitors) {
    const { selector, endpoints } = serviceMonitorSchema.parse(monitor).spec;
    const services = objects.filter(
      ({ kind, metadata }) =>
        kind === "Service" && Object.entries(selector.matchLabels).every(([name, value]) => metadata.labels?.[name] === value),
    );
    const ports = services.flatMap((service) => servicePortsSchema.parse(service).spec.ports);
    const podPorts = selected(selector.matchLabels, opened(objects)).ports;
    for (const { port } of endpoints)
      expect(
        ports.filter(({ name }) => name === port).map(({ targetPort }) => targetPort),
        `${title(monitor)} ${port}`,
      ).toEqual([podPorts.get(port)]);
  }
});

describe("the network policies", () => {
  test("cover each pod of the release in both directions, and open only its ports", async () => {
    const objects = await render(helm(), ALL);
    const policies = objects.filter(({ kind }) => kind === "NetworkPolicy").map((policy) => policySchema.parse(policy).spec);
    for (const pod of opened(objects).filter(({ owner }) => owner !== `${NAME}-smoke`)) {
      const own = policies.filter(({ podSelector }) => selectedBy(podSelector.matchLabels, [pod]).length === 1);
      expect(own, pod.owner).toHaveLength(1);
      expect(own[0]?.policyTypes).toEqual(["Ingress", "Egress"]);
      const open = own.flatMap(({ ingress }) => ingress.flatMap(({ ports }) => ports.map(({ port }) => port)));
      expect(new Set(open), pod.owner).toEqual(new Set(pod.ports.values()));
    }
  });

  /** Who may call a port: names of the pods' owners; anyone where the policy names nobody. */
  async function callersOf(component: string, port: number): Promise<string[] | "anyone"> {
    const objects = await render(helm(), ALL);
    const { ingress } = policySchema.parse(only(objects, "NetworkPolicy", `${NAME}-${component}`)).spec;
    const peers = ingress.find(({ ports }) => ports.some((each) => each.port === port))?.from;
    if (peers === undefined) return "anyone";
    return peers.flatMap(({ podSelector }) =>
      podSelector === undefined ? ["*"] : selectedBy(podSelector.matchLabels, opened(objects)).map(({ owner }) => owner),
    );
  }

  test("allow only Envoys of this release to reach the credentials of model servers", async () => {
    expect(await callersOf("operator", 9004)).toEqual([NAME]);
  });

  test("allow only Envoys of this release to reach the dashboard, whose port is never public", async () => {
    expect(await callersOf("dashboard", 8090)).toEqual([NAME]);
  });

  test("allow only the product's pods to reach the trial's Postgres", async () => {
    const callers = await callersOf("postgres", 5432);
    expect(callers).toEqual([NAME, `${NAME}-operator`, `${NAME}-dashboard`, expect.stringContaining("-migrate-")]);
  });

  test("allow anyone to reach the port for clients", async () => {
    expect(await callersOf("gateway", 8080)).toBe("anyone");
  });

  test("allow every component to resolve names, on OpenShift too, where the pods that do so listen on another port", async () => {
    const common = ["53/UDP", "53/TCP", "5353/UDP", "5353/TCP"];
    expect(await dnsPortsOf({})).toEqual([common, common, common, common]);
    const own = ["8053/UDP", "8053/TCP"];
    expect(await dnsPortsOf({ networkPolicy: { dnsPorts: [8053] } })).toEqual([own, own, own, own]);
  });

  /** What the policies open over UDP, which only name servers are asked over, with the same rule's other ports. */
  async function dnsPortsOf(values: Values) {
    const policies = (await render(helm(), { ...ALL, ...values })).filter(({ kind }) => kind === "NetworkPolicy");
    const rules = policies.flatMap((policy) => dnsSchema.parse(policy).spec.egress.map(({ ports }) => ports));
    const nameServers = rules.filter((ports) => ports.some(({ protocol }) => protocol === "UDP"));
    return nameServers.map((ports) => ports.map(({ port, protocol }) => `${port}/${protocol}`));
  }

  test("block every pod from cloud metadata addresses", async () => {
    const text = JSON.stringify((await render(helm(), ALL)).filter(({ kind }) => kind === "NetworkPolicy"));
    const anywhere = [...text.matchAll(/"cidr":"0\.0\.0\.0\/0"(,"except":\[[^\]]*\])?/g)];
    expect(anywhere).toHaveLength(2);
    for (const [, except] of anywhere) expect(except).toContain('"169.254.0.0/16"');
  });

  /** Where Envoy may send requests: what its policy opens without naming a port. */
  async function backendsOf(backends: object): Promise<unknown[]> {
    const objects = await render(helm(), { ...ALL, operator: { backends } });
    const { egress } = policySchema.parse(only(objects, "NetworkPolicy", `${NAME}-gateway`)).spec;
    return egress.find(({ ports }) => ports === undefined)?.to ?? [];
  }
  const isShut = (peers: readonly unknown[], address: string) =>
    !blockSchema
      .array()
      .parse(peers)
      .flatMap(({ ipBlock }) => (ipBlock === undefined ? [] : [ipBlock]))
      .some(({ cidr, except }) => matcherOf([cidr])(address) && !matcherOf(except)(address));

  test("allow Envoy to reach the backends that the operator allows, and nothing else", async () => {
    const addresses = ["8.8.8.8", "2606:4700::1111", "10.0.0.1", "192.168.0.1", "fd12::1", "127.0.0.1", "169.254.169.254", "::1"];
    const awayFor = ["fe80::1", "fd00:ec2::254", "100.100.100.200", "10.20.0.1", "100.64.0.1", "2002:a00:1::"];
    for (const [backends, options] of [
      [{}, {}],
      [{ allowPrivateAddresses: true }, { allowPrivate: true }],
      [{ allowCidrs: ["10.20.0.0/16", "169.254.169.254/32"] }, { allowCidrs: ["10.20.0.0/16", "169.254.169.254/32"] }],
    ] as const) {
      const policy = createAddressPolicy({ allowPrivate: false, allowCidrs: [], allowNamespaces: [], ...options });
      const peers = await backendsOf(backends);
      for (const address of [...addresses, ...awayFor])
        expect(isShut(peers, address), address).toBe(policy.objection(address, []) !== null);
    }
  });

  test("allow Envoy to reach pods of namespaces that may have backends", async () => {
    const namespaces = (peers: readonly unknown[]) =>
      blockSchema
        .array()
        .parse(peers)
        .flatMap(({ namespaceSelector }) => namespaceSelector ?? []);
    expect(namespaces(await backendsOf({}))).toEqual([]);
    expect(namespaces(await backendsOf({ allowPrivateAddresses: true }))).toEqual([{}]);
    expect(namespaces(await backendsOf({ allowNamespaces: ["inference", "team-a"] }))).toEqual([
      { matchLabels: { "kubernetes.io/metadata.name": "inference" } },
      { matchLabels: { "kubernetes.io/metadata.name": "team-a" } },
    ]);
  });

  test("allow Envoy to reach Google's metadata servers only if Models may use the pods' identity there", async () => {
    const egressWith = async (google: object) => {
      const objects = await render(helm(), { ...ALL, operator: { backends: { google } } });
      return JSON.stringify(policySchema.parse(only(objects, "NetworkPolicy", `${NAME}-gateway`)).spec.egress);
    };
    expect(await egressWith({ enabled: true })).toContain('"cidr":"169.254.169.254/32"');
    expect(await egressWith({})).not.toContain('"cidr":"169.254.');
  });

  test("give the operator the same ranges", async () => {
    const backends = { allowPrivateAddresses: true, allowNamespaces: ["a", "b"], allowCidrs: ["10.0.0.0/8", "fd00::/8"] };
    const pods = podsOf(await render(helm(), { ...ALL, operator: { backends } }));
    const env = pods.find(({ owner }) => owner === `${NAME}-operator`)?.containers.flatMap((each) => each.env) ?? [];
    expect(env.filter(({ name }) => name.startsWith("BACKEND_")).map(({ name, value }) => [name, value])).toEqual([
      ["BACKEND_ALLOW_PRIVATE", "true"],
      ["BACKEND_ALLOW_NAMESPACES", "a,b"],
      ["BACKEND_ALLOW_CIDRS", "10.0.0.0/8,fd00::/8"],
    ]);
  });
});

describe("the gateway's pod", () => {
  test("has a grace period longer than its drain and the settlement after it", async () => {
    const drains = await Promise.all(
      [15, 900, 7200].map(async (drainSeconds) => {
        const objects = await render(helm(), { ...ALL, gateway: { drainSeconds } });
        const pod = podsOf(objects).find(({ owner }) => owner === NAME);
        const drain = pod?.containers.flatMap(({ env }) => env).find(({ name }) => name === "ENVOY_DRAIN_SECONDS")?.value;
        return [Number(drain), (pod?.spec.terminationGracePeriodSeconds ?? 0) - drainSeconds];
      }),
    );
    // extproc's own shutdown has deadlines that sum up to 37 seconds.
    expect(drains).toEqual([
      [15, 60],
      [900, 60],
      [7200, 60],
    ]);
  });

  test("keeps its journal on its own claim, which nothing deletes", async () => {
    const set = only(await render(helm(), ALL), "StatefulSet", NAME);
    expect(set).toMatchObject({
      spec: {
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
        volumeClaimTemplates: [{ metadata: { name: "journal" }, spec: { accessModes: ["ReadWriteOnce"] } }],
      },
    });
  });
});
