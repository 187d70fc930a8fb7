import * as z from "zod";
import { describe, expect, test } from "vitest";
import { useKubeApi } from "../support/kube/use-kube-api.ts";
import { podsOf } from "./harness-pods.ts";
import { NAME, only, render, title, type KubeObject } from "./harness-render.ts";

const api = useKubeApi();
const ALL = {
  postgres: { enabled: true },
  dashboard: { enabled: true },
  monitoring: { podMonitor: { enabled: true } },
} as const;

const labelsSchema = z.record(z.string(), z.string());
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

describe("what leads to pods", () => {
  test("every Service finds pods of one kind, on a port that they open", async () => {
    const objects = await render(api(), ALL);
    const services = objects.filter(({ kind }) => kind === "Service");
    expect(services).toHaveLength(5);
    for (const service of services) {
      const { selector, ports } = serviceSchema.parse(service).spec;
      const open = [...selected(selector, opened(objects)).ports.values()];
      for (const { targetPort } of ports) expect(open, title(service)).toContain(targetPort);
    }
  });

  test("every PodMonitor finds a port by its name", async () => {
    const objects = await render(api(), ALL);
    const monitors = objects.filter(({ kind }) => kind === "PodMonitor");
    expect(monitors).toHaveLength(3);
    for (const monitor of monitors) {
      const { selector, podMetricsEndpoints } = monitorSchema.parse(monitor).spec;
      const names = [...selected(selector.matchLabels, opened(objects)).ports.keys()];
      for (const { port } of podMetricsEndpoints) expect(names, title(monitor)).toContain(port);
    }
  });
});

describe("the network policies", () => {
  test("cover each pod of the release, inwards and outwards, and open only ports that it opens", async () => {
    const objects = await render(api(), ALL);
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
    const objects = await render(api(), ALL);
    const { ingress } = policySchema.parse(only(objects, "NetworkPolicy", `${NAME}-${component}`)).spec;
    const peers = ingress.find(({ ports }) => ports.some((each) => each.port === port))?.from;
    if (peers === undefined) return "anyone";
    return peers.flatMap(({ podSelector }) =>
      podSelector === undefined ? ["*"] : selectedBy(podSelector.matchLabels, opened(objects)).map(({ owner }) => owner),
    );
  }

  test("let only Envoys of this release at the credentials of model servers", async () => {
    expect(await callersOf("operator", 9004)).toEqual([NAME]);
  });

  test("let only Envoys of this release at the dashboard, whose port is never public", async () => {
    expect(await callersOf("dashboard", 8090)).toEqual([NAME]);
  });

  test("let only the product's pods at the trial's Postgres", async () => {
    const callers = await callersOf("postgres", 5432);
    expect(callers).toEqual([NAME, `${NAME}-operator`, `${NAME}-dashboard`, expect.stringContaining("-migrate-")]);
  });

  test("let anyone at the clients' port", async () => {
    expect(await callersOf("gateway", 8080)).toBe("anyone");
  });

  test("keep every pod from the addresses where clouds give machines their credentials", async () => {
    const text = JSON.stringify((await render(api(), ALL)).filter(({ kind }) => kind === "NetworkPolicy"));
    const anywhere = text.match(/"cidr":"0\.0\.0\.0\/0"/g)?.length;
    expect(anywhere).toBe(2);
    expect(text.match(/"cidr":"0\.0\.0\.0\/0","except":\["169\.254\.0\.0\/16"\]/g)).toHaveLength(2);
  });
});

describe("the gateway's pod", () => {
  test("has longer to end than its drain and the settling after it", async () => {
    const drains = await Promise.all(
      [15, 900, 7200].map(async (drainSeconds) => {
        const objects = await render(api(), { ...ALL, gateway: { drainSeconds } });
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

  test("keeps its journal on a claim of its own, which nothing deletes", async () => {
    const set = only(await render(api(), ALL), "StatefulSet", NAME);
    expect(set).toMatchObject({
      spec: {
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "Retain", whenScaled: "Retain" },
        volumeClaimTemplates: [{ metadata: { name: "journal" }, spec: { accessModes: ["ReadWriteOnce"] } }],
      },
    });
  });
});
