import { access, constants, readFile } from "node:fs/promises";
import path from "node:path";
import { fileURLToPath } from "node:url";
import { MissingPrerequisite } from "../test-run/prerequisite.ts";
import { findGoTools, type FindGoToolsOptions } from "../go-tools/go-tools.ts";
import type { GoTools } from "../go-tools/programs.ts";
import { kubernetesVersion, linkedKubernetes } from "./linked.ts";

/** Paths of the programs that make a Kubernetes API without a cluster. */
export interface KubeTools {
  apiServer: string;
  etcd: string;
  kubectl: string;
  helm: string;
}

const MODULE = fileURLToPath(new URL("../../kube-tools", import.meta.url));
const PROGRAMS = [
  ["kube-apiserver", "--version"],
  ["etcd", "--version"],
  ["kubectl", "version", "--client"],
  ["helm", "version"],
] as const;

/**
 * The programs in KUBEBUILDER_ASSETS, else those built from test/kube-tools/go.mod.
 * @throws MissingPrerequisite
 */
export async function findKubeTools(options: FindGoToolsOptions): Promise<KubeTools> {
  const given = options.environment.KUBEBUILDER_ASSETS;
  if (given !== undefined && given !== "") return await checkGiven(given);
  return toolsIn(await findGoTools(await kubeTools(), options));
}

async function kubeTools(): Promise<GoTools> {
  return {
    name: "kube-tools",
    title: "the Kubernetes test tools",
    needers: "The Kubernetes test tools",
    list: "kube-apiserver, etcd, kubectl and helm",
    module: MODULE,
    packages: [
      "go.etcd.io/etcd/server/v3",
      "helm.sh/helm/v3/cmd/helm",
      "k8s.io/kubernetes/cmd/kube-apiserver",
      "k8s.io/kubernetes/cmd/kubectl",
    ],
    flags: [],
    linked: await linkedVersions(),
    renamed: { server: "etcd" },
    programs: PROGRAMS,
    minutes: 5,
    alternative: ", or set KUBEBUILDER_ASSETS to a directory with kube-apiserver, etcd, kubectl and helm",
  };
}

function toolsIn(directory: string): KubeTools {
  const file = (name: (typeof PROGRAMS)[number][0]) => path.join(directory, name);
  return { apiServer: file("kube-apiserver"), etcd: file("etcd"), kubectl: file("kubectl"), helm: file("helm") };
}

async function checkGiven(directory: string): Promise<KubeTools> {
  for (const [name] of PROGRAMS) {
    const isExecutable = await access(path.join(directory, name), constants.X_OK).then(
      () => true,
      () => false,
    );
    if (!isExecutable)
      throw new MissingPrerequisite(`KUBEBUILDER_ASSETS is ${directory}, where there is no ${name}: put one there, or unset it.`);
  }
  return toolsIn(directory);
}

/**
 * Versions that releases are linked with. Without its own a server calls itself v0.0.0, and Helm refuses every chart that
 * says which Kubernetes it needs; without Kubernetes' version, `helm template` takes the cluster for a 1.20.
 */
async function linkedVersions(): Promise<GoTools["linked"]> {
  const { major, minor } = await kubernetesVersion(MODULE);
  const [, helm] = /helm\.sh\/helm\/v3 (v\S+)/.exec(await readFile(path.join(MODULE, "go.mod"), "utf8")) ?? [];
  return {
    ...(await linkedKubernetes(MODULE)),
    "helm.sh/helm/v3/internal/version.version": helm,
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": major,
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": minor,
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": major,
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
  };
}
