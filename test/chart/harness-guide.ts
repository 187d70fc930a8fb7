import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import path from "node:path";
import { promisify } from "node:util";
import process from "node:process";
import { ROOT } from "../../charts/generate/outputs.ts";
import type { KubeApi } from "../support/kube/api.ts";
import { UNCOLLECTED } from "../support/kube/commands.ts";
import { findKubeTools } from "../support/kube/tools.ts";
import { findPrograms } from "../support/test-run/programs.ts";

/** The commands of docs/kubernetes.md that are marked to be run, in order, word for word. */
export async function guideSteps(): Promise<string[]> {
  return await markedSteps("run");
}

/** The commands that install a trial, with a Postgres of its own. */
export async function trialStep(): Promise<string> {
  const [step = ""] = await markedSteps("trial");
  return step;
}

async function markedSteps(mark: string): Promise<string[]> {
  const text = await readFile(path.join(ROOT, "docs/kubernetes.md"), "utf8");
  const marked = new RegExp(`^<!-- ${mark} -->\\n\`\`\`sh\\n([\\s\\S]*?)^\`\`\`$`, "gm");
  return [...text.matchAll(marked)].map(([, step = ""]) => step);
}

export interface Shell {
  /** @throws Error with what a command complained of. */
  run(script: string): Promise<string>;
}

/**
 * A shell as the guide's reader has one: in a checkout, with kubectl and helm for this API server. Where there are no nodes
 * `kubectl exec` runs its command here, in the environment of the container that it names.
 */
export async function createShell(
  api: KubeApi,
  {
    directory,
    variables,
    execEnvironment,
  }: { directory: string; variables: Record<string, string>; execEnvironment(): Promise<Record<string, string>> },
): Promise<Shell> {
  const tools = await findKubeTools({ environment: process.env, onProgress: (line) => console.log(line) });
  const bundles = path.dirname((await findPrograms())("extproc/main.ts"));
  return {
    async run(script) {
      // In a file: what a failed command's error shows must not have passwords in it.
      const settings = Object.entries(await execEnvironment()).map(([name, value]) => `${name}=${value}\n`);
      await writeFile(path.join(directory, "exec.env"), settings, { mode: 0o600 });
      const prelude = `
        helm() { '${tools.helm}' "$@"; }
        kubectl() {
          [[ " $* " == *" exec "* ]] || { '${tools.kubectl}' "$@"; return; }
          '${tools.kubectl}' "\${@:1:2}" get "$4" > /dev/null
          while [[ "$1" != -- ]]; do shift; done
          shift
          [[ "$1" == node ]] && shift && set -- '${process.execPath}' "\${@/#dist\\//'${bundles}/'}"
          mapfile -t settings < '${directory}/exec.env'
          (cd '${ROOT}' && env --ignore-environment "\${settings[@]}" "$@")
        }`;
      const running = promisify(execFile)("bash", ["-euo", "pipefail", "-c", `${prelude}\n${script}`], {
        cwd: directory,
        env: { ...UNCOLLECTED, PATH: process.env["PATH"], HOME: directory, KUBECONFIG: api.kubeconfig, ...variables },
        timeout: 120_000,
      });
      try {
        return (await running).stdout;
      } catch (error) {
        const complaint = error instanceof Error && "stderr" in error ? String(error.stderr).trim() : String(error);
        throw new Error(`The guide's step fails: ${complaint}\n${script}`, { cause: error });
      }
    },
  };
}
