import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, rename } from "node:fs/promises";
import path from "node:path";
import { createInterface } from "node:readline";

export interface GoBuildOptions {
  /** Directory of the go.mod whose tools are built. */
  module: string;
  /** Where the programs go. */
  output: string;
  environment: Readonly<Record<string, string | undefined>>;
  onProgress: (line: string) => void;
}

const PACKAGES = [
  "go.etcd.io/etcd/server/v3",
  "helm.sh/helm/v3/cmd/helm",
  "k8s.io/kubernetes/cmd/kube-apiserver",
  "k8s.io/kubernetes/cmd/kubectl",
];

/** Small and static; go.mod is taken as it is, whatever the machine's Go settings say. */
export const BUILD_FLAGS = ["-mod=readonly", "-trimpath", "-buildvcs=false"] as const;

const PROGRESS_EVERY_MS = 30_000;
const OTHER_WAY = "or set KUBEBUILDER_ASSETS to a directory with kube-apiserver, etcd, kubectl and helm";

/**
 * Builds kube-apiserver, etcd, kubectl and helm from Go modules: about four minutes on two cores where nothing is cached.
 * @throws Error with one sentence that says what to do.
 */
export async function buildKubeTools({ module, output, environment, onProgress }: GoBuildOptions): Promise<void> {
  onProgress("Building kube-apiserver, etcd, kubectl and helm from Go modules, once; about 5 minutes …");
  const lines: string[] = [];
  // -v prints each package once it is compiled.
  const child = spawn(
    "go",
    ["build", "-v", ...BUILD_FLAGS, "-ldflags", await linkerFlags(module), "-o", `${output}${path.sep}`, ...PACKAGES],
    {
      cwd: module,
      env: { ...environment, CGO_ENABLED: "0", GOWORK: "off" },
      stdio: ["ignore", "ignore", "pipe"],
    },
  );
  createInterface({ input: child.stderr }).on("line", (line) => void lines.push(line));
  const startedMs = performance.now();
  const timer = setInterval(() => {
    const seconds = Math.round((performance.now() - startedMs) / 1_000);
    onProgress(`Building the Kubernetes test tools: ${lines.length} packages in ${seconds} s …`);
  }, PROGRESS_EVERY_MS);
  try {
    const [code] = await once(child, "close");
    if (code !== 0) throw new Error(`The Kubernetes test tools could not be built, ${OTHER_WAY}. Go says: ${lastWords(lines)}`);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT")
      throw new Error(
        `The Kubernetes test tools are built with Go, and there is no go on PATH: install Go 1.24 or later, ${OTHER_WAY}.`,
        { cause: error },
      );
    throw error;
  } finally {
    clearInterval(timer);
  }
  // Go names a program after its package's folder.
  await rename(path.join(output, "server"), path.join(output, "etcd"));
}

/**
 * Versions that releases are linked with. Without its own a server calls itself v0.0.0, and Helm refuses every chart that
 * says which Kubernetes it needs; without Kubernetes' version, `helm template` takes the cluster for a 1.20.
 */
async function linkerFlags(module: string): Promise<string> {
  const goMod = await readFile(path.join(module, "go.mod"), "utf8");
  const [, kubernetes, major, minor] = /k8s\.io\/kubernetes (v(\d+)\.(\d+)\.\d+)/.exec(goMod) ?? [];
  const [, helm] = /helm\.sh\/helm\/v3 (v\S+)/.exec(goMod) ?? [];
  const linked = {
    "k8s.io/component-base/version.gitVersion": kubernetes,
    "k8s.io/component-base/version.gitMajor": major,
    "k8s.io/component-base/version.gitMinor": minor,
    "helm.sh/helm/v3/internal/version.version": helm,
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMajor": major,
    "helm.sh/helm/v3/pkg/lint/rules.k8sVersionMinor": minor,
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMajor": major,
    "helm.sh/helm/v3/pkg/chartutil.k8sVersionMinor": minor,
  };
  return ["-s", "-w", ...Object.entries(linked).map(([name, value]) => `-X ${name}=${value}`)].join(" ");
}

function lastWords(lines: readonly string[]): string {
  return lines.slice(-3).join(" ");
}
