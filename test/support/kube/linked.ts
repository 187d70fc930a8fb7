import { readFile } from "node:fs/promises";
import path from "node:path";
import type { GoTools } from "../go-tools/programs.ts";

/** The linker flags of Kubernetes' releases. Without them, programs report v0.0.0. */
export async function linkedKubernetes(module: string): Promise<GoTools["linked"]> {
  const { version, major, minor } = await kubernetesVersion(module);
  return {
    "k8s.io/component-base/version.gitVersion": version,
    "k8s.io/component-base/version.gitMajor": major,
    "k8s.io/component-base/version.gitMinor": minor,
  };
}

export interface KubernetesVersion {
  version: string | undefined;
  major: string | undefined;
  minor: string | undefined;
}

/** The version that a folder's go.mod names. */
export async function kubernetesVersion(module: string): Promise<KubernetesVersion> {
  const goMod = await readFile(path.join(module, "go.mod"), "utf8");
  const [, version, major, minor] = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)/.exec(goMod) ?? [];
  return { version, major, minor };
}
