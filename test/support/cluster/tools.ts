import path from "node:path";
import { fileURLToPath } from "node:url";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";
import type { GoTools } from "../go-tools/programs.ts";
import { linkedKubernetes } from "../kube/linked.ts";

/** Paths of the programs that make a node, and controllers, of an API server. */
export interface NodeTools {
  kubelet: string;
  proxy: string;
  scheduler: string;
  controllerManager: string;
}

const MODULE = fileURLToPath(new URL("../../node-tools", import.meta.url));
const PROGRAMS = [
  ["kubelet", "--version"],
  ["kube-proxy", "--version"],
  ["kube-scheduler", "--version"],
  ["kube-controller-manager", "--version"],
] as const;

/** @throws MissingPrerequisite */
export async function findNodeTools(options: FindGoToolsOptions): Promise<NodeTools> {
  const directory = await findGoTools(await nodeTools(), options);
  const file = (name: (typeof PROGRAMS)[number][0]) => path.join(directory, name);
  return {
    kubelet: file("kubelet"),
    proxy: file("kube-proxy"),
    scheduler: file("kube-scheduler"),
    controllerManager: file("kube-controller-manager"),
  };
}

async function nodeTools(): Promise<GoTools> {
  return {
    name: "node-tools",
    title: "the programs of a Kubernetes node",
    needers: "The programs of a Kubernetes node",
    list: "kubelet, kube-proxy, kube-scheduler and kube-controller-manager",
    module: MODULE,
    packages: PROGRAMS.map(([name]) => `k8s.io/kubernetes/cmd/${name}`),
    flags: [],
    linked: await linkedKubernetes(MODULE),
    renamed: {},
    programs: PROGRAMS,
    minutes: 8,
    alternative: "",
  };
}
