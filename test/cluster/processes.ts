import type { Cluster } from "../support/cluster/access.ts";
import type { Release } from "./release.ts";

/** A process of a pod, by its id on the node. */
interface PodProcess {
  pid: number;
  parent: number;
  command: string;
}

/** Lists what runs in a pod whose id is $0: processes are in control groups that are named after it. */
const LIST = `
for directory in /proc/[0-9]*; do
  grep --quiet "pod$0" "$directory/cgroup" 2>/dev/null || continue
  parent=$(sed --quiet 's/^PPid:\\t//p' "$directory/status")
  echo "\${directory#/proc/} $parent $(tr '\\0' ' ' <"$directory/cmdline")"
done 2>/dev/null || true`;

async function processesOf(cluster: Cluster, release: Release, pod: string): Promise<PodProcess[]> {
  const uid = await release.kubectl(["get", "pod", pod, "--output", "jsonpath={.metadata.uid}"]);
  const lines = (await cluster.room.run(["bash", "-c", LIST, uid])).trim().split("\n");
  return lines.map((line) => {
    const [pid, parent, ...command] = line.split(" ");
    return { pid: Number(pid), parent: Number(parent), command: command.join(" ").trim() };
  });
}

/** extproc's processes of a pod. */
export async function extprocOf(
  cluster: Cluster,
  release: Release,
  pod: string,
): Promise<{ supervisor: number; workers: number[] }> {
  const all = (await processesOf(cluster, release, pod)).filter(({ command }) => command.endsWith("dist/extproc.mjs"));
  const isChild = ({ parent }: PodProcess) => all.some(({ pid }) => pid === parent);
  const supervisor = all.find((each) => !isChild(each))?.pid;
  if (supervisor === undefined) throw new Error(`${pod} runs no extproc.`);
  return { supervisor, workers: all.filter(isChild).map(({ pid }) => pid) };
}

export async function envoyOf(cluster: Cluster, release: Release, pod: string): Promise<number> {
  const found = (await processesOf(cluster, release, pod)).find(({ command }) => /\benvoy --config-path/.test(command));
  if (found === undefined) throw new Error(`${pod} runs no Envoy.`);
  return found.pid;
}

/** As the kernel does it when memory runs out. */
export async function kill(cluster: Cluster, pid: number): Promise<void> {
  await cluster.room.run(["bash", "-c", `kill -KILL "$0"`, String(pid)]);
}
