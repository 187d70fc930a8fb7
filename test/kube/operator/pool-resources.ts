import type { KubeApi } from "../../support/kube/api.ts";
import { TEAM } from "./install.ts";

const LABELS = { app: "vllm" };

/** InferencePool `gpus`, whose picker is Service `epp`. */
export function inferencePool({ pickerPort, failureMode = "FailClose", ...spec }: PoolFields): object {
  return {
    apiVersion: "inference.networking.k8s.io/v1",
    kind: "InferencePool",
    metadata: { name: "gpus", namespace: TEAM },
    spec: {
      selector: { matchLabels: LABELS },
      endpointPickerRef: { name: "epp", port: { number: pickerPort }, failureMode },
      ...spec,
    },
  };
}

interface PoolFields {
  pickerPort: number;
  targetPorts: readonly { number: number }[];
  failureMode?: "FailOpen" | "FailClose";
}

export function pickerService({ host, port }: { host: string; port: number }): object {
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "epp", namespace: TEAM },
    spec: { clusterIP: host, ports: [{ port }] },
  };
}

export interface PodState {
  isReady?: boolean;
  address?: string;
}

/** A pod of the pool, in the state in which kubelet would report it. */
export async function applyModelServer(
  api: Pick<KubeApi, "send">,
  name: string,
  { isReady = true, address = "127.0.0.1" }: PodState = {},
): Promise<void> {
  const path = `/api/v1/namespaces/${TEAM}/pods/${name}`;
  const pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name, namespace: TEAM, labels: LABELS },
    spec: { containers: [{ name: "vllm", image: "vllm" }] },
  };
  await api.send(`${path}?fieldManager=test&force=true`, { how: "APPLY", content: pod });
  const status = {
    phase: "Running",
    podIP: address,
    podIPs: [{ ip: address }],
    conditions: [{ type: "Ready", status: isReady ? "True" : "False" }],
  };
  await api.send(`${path}/status`, { how: "MERGE", content: { status } });
}
