import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import { stringify } from "yaml";
import { DNS_DOMAIN, NODE, NODE_ADDRESS, NODE_NETWORK, POD_NETWORK } from "./addresses.ts";
import type { Room } from "./room.ts";
import type { NodeTools } from "./tools.ts";

export interface NodeOptions {
  room: Omit<Room, "close">;
  directory: string;
  credentials: string;
  tools: NodeTools;
  containerd: string;
  /** Below which all pods are. */
  cgroup: string;
}

/** kubelet and kube-proxy. */
export async function startNode(options: NodeOptions): Promise<void> {
  const { room, directory, credentials, tools } = options;
  const within = (name: string) => path.join(directory, name);
  await mkdir(within("plugins"), { recursive: true });
  await writeFile(within("resolv.conf"), `nameserver ${NODE_ADDRESS}\n`);
  await writeFile(within("kubelet.yaml"), stringify(kubelet(options)));
  await writeFile(within("kube-proxy.yaml"), stringify(proxy(credentials)));
  await room.start("kubelet", [
    tools.kubelet,
    `--config=${within("kubelet.yaml")}`,
    `--kubeconfig=${path.join(credentials, "kubelet.kubeconfig")}`,
    `--root-dir=${within("kubelet")}`,
    `--cert-dir=${within("kubelet-certificates")}`,
    `--hostname-override=${NODE}`,
    `--node-ip=${NODE_ADDRESS}`,
  ]);
  await room.start("kube-proxy", [tools.proxy, `--config=${within("kube-proxy.yaml")}`]);
}

function kubelet({ directory, containerd, cgroup }: NodeOptions): object {
  return {
    apiVersion: "kubelet.config.k8s.io/v1beta1",
    kind: "KubeletConfiguration",
    cgroupDriver: "cgroupfs",
    cgroupRoot: `/${cgroup}`,
    containerRuntimeEndpoint: `unix://${containerd}`,
    clusterDNS: [NODE_ADDRESS],
    clusterDomain: DNS_DOMAIN,
    resolvConf: path.join(directory, "resolv.conf"),
    // Nobody else is in this network.
    authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
    authorization: { mode: "AlwaysAllow" },
    address: NODE_ADDRESS,
    failSwapOn: false,
    // Machines with control groups of version 1 are as good, up to Kubernetes 1.34.
    failCgroupV1: false,
    // A root without CAP_SYS_RESOURCE may not do all that kubelet tries.
    featureGates: { KubeletInUserNamespace: true },
    maxPods: 100,
    // The disk is the machine's, and others fill it.
    evictionHard: { "memory.available": "100Mi", "nodefs.available": "1%", "imagefs.available": "1%" },
    imageGCHighThresholdPercent: 100,
    imageGCLowThresholdPercent: 99,
    podLogsDir: path.join(directory, "pod-logs"),
    volumePluginDir: path.join(directory, "plugins"),
    makeIPTablesUtilChains: false,
    serializeImagePulls: false,
  };
}

function proxy(credentials: string): object {
  return {
    apiVersion: "kubeproxy.config.k8s.io/v1alpha1",
    kind: "KubeProxyConfiguration",
    mode: "nftables",
    clusterCIDR: POD_NETWORK,
    hostnameOverride: NODE,
    clientConnection: { kubeconfig: path.join(credentials, "kube-proxy.kubeconfig") },
    // Those limits are the machine's.
    conntrack: { maxPerCore: 0, min: 0, tcpEstablishedTimeout: "0s", tcpCloseWaitTimeout: "0s" },
    nodePortAddresses: [NODE_NETWORK],
    metricsBindAddress: "127.0.0.1:10249",
  };
}
