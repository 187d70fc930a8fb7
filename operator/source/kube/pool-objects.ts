import { isIP } from "node:net";
import * as z from "zod";
import type { KubeObject } from "../../kube/object.ts";

/** What the gateway reads of an InferencePool and of the objects that it refers to. */

const port = z.int().min(1).max(65_535);
/** Of a Service: what has a slash would be the path of something else. */
const serviceName = z.string().regex(/^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?$/);
/** As the API server takes them in a selector; for others it would refuse the list of pods. */
const labelName = z
  .string()
  .max(317)
  .regex(/^([a-z0-9.-]{1,253}\/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$/);
const labelValue = z.string().regex(/^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$/);

const poolSchema = z.object({
  spec: z.object({
    selector: z.object({ matchLabels: z.record(labelName, labelValue) }),
    targetPorts: z.array(z.object({ number: port })).min(1),
    appProtocol: z.string().default("http"),
    endpointPickerRef: z
      .object({
        group: z.string().default(""),
        kind: z.string().default("Service"),
        name: serviceName,
        port: z.object({ number: port }).optional(),
        failureMode: z.string().default("FailClose"),
      })
      .optional(),
  }),
});

export interface PoolSpec {
  labels: Readonly<Record<string, string>>;
  ports: readonly number[];
  isHttp2: boolean;
  /** Of its Service. */
  picker: { name: string; port: number; failsOpen: boolean };
}

/** @returns a string that continues the sentence after the pool's name if nothing can be done with it. */
export function parsePool(object: unknown): PoolSpec | string {
  const parsed = poolSchema.safeParse(object);
  if (!parsed.success) return "has a form that this version of the gateway does not read";
  const { selector, targetPorts, appProtocol, endpointPickerRef: picker } = parsed.data.spec;
  // An empty selector would be every pod of the namespace.
  if (Object.keys(selector.matchLabels).length === 0) return "selects no labels; set spec.selector.matchLabels";
  if (picker === undefined) return "names no endpoint picker; set spec.endpointPickerRef";
  if (picker.group !== "" || picker.kind !== "Service" || picker.port === undefined)
    return "names an endpoint picker that is no Service; set spec.endpointPickerRef to one, with its port";
  return {
    labels: selector.matchLabels,
    ports: targetPorts.map(({ number }) => number),
    isHttp2: appProtocol === "kubernetes.io/h2c",
    picker: { name: picker.name, port: picker.port.number, failsOpen: picker.failureMode === "FailOpen" },
  };
}

const serviceSchema = z.object({
  spec: z.object({ type: z.string().default("ClusterIP"), clusterIP: z.string().default("") }),
});

/**
 * The Service's own address. Names of other servers are not followed, as the extension demands (CVE-2021-25740), and a Service
 * without an address has none that stays.
 */
export function parseServiceAddress(object: unknown): string | null {
  const parsed = serviceSchema.safeParse(object);
  if (!parsed.success || parsed.data.spec.type === "ExternalName") return null;
  const { clusterIP } = parsed.data.spec;
  return isIP(clusterIP) === 0 ? null : clusterIP;
}

const podSchema = z.object({
  status: z.object({
    podIP: z.string(),
    conditions: z.array(z.object({ type: z.string(), status: z.string() })).default([]),
  }),
});

/** What is read of a pod: thousands are kept. */
export function trimPod(pod: KubeObject): KubeObject {
  const { name, namespace, uid, resourceVersion, deletionTimestamp } = pod.metadata;
  const { data } = podSchema.safeParse(pod);
  return {
    metadata: { name, namespace, uid, resourceVersion, deletionTimestamp, generation: 0, finalizers: [] },
    ...(data !== undefined && {
      status: { podIP: data.status.podIP, conditions: data.status.conditions.filter(({ type }) => type === "Ready") },
    }),
  };
}

/** The pod's address if it is ready; null if not, and while it ends. */
export function readyAddress(pod: KubeObject): string | null {
  if (pod.metadata.deletionTimestamp !== undefined) return null;
  const parsed = podSchema.safeParse(pod);
  if (!parsed.success || isIP(parsed.data.status.podIP) === 0) return null;
  const isReady = parsed.data.status.conditions.some(({ type, status }) => type === "Ready" && status === "True");
  return isReady ? parsed.data.status.podIP : null;
}
