import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import path from "node:path";
import { promisify } from "node:util";
import * as z from "zod";
import { ROOT } from "../../charts/generate/outputs.ts";
import { COMPILE_CACHE } from "../support/test-run/compile-cache.ts";
import { findImagePrograms } from "../support/test-run/programs.ts";
import { eventually } from "../support/eventually.ts";
import type { KubeApi } from "../support/kube/api.ts";
import { mountSecret } from "../support/stacks/mounted-secret.ts";
import { podsOf, type Container, type Pod } from "./harness-pods.ts";
import { parseObjects } from "./harness-render.ts";

/** Runs containers of Pods as processes of this machine, since a bare API server has no nodes. */
export interface Node {
  /** The container's variables, as kubelet would fill them in. */
  environmentOf(pod: Pod, container: Container): Promise<Record<string, string>>;
  /** Mounts a Pod's certificates between the release's parts below a directory. @returns where they are. */
  mountInternalTls(pod: Pod, directory: string): Promise<string>;
  /** Runs a command in a container's environment to its end. @throws with what it complained of. */
  run(words: readonly string[], environment: Record<string, string>): Promise<string>;
  /** Starts one and waits until its address answers 200. */
  start(container: Container, options: { environment: Record<string, string>; readyUrl: string }): Promise<void>;
  /** Runs a Job's container once the Job is there, and says that the Job is complete. */
  runJob(name: string): Promise<void>;
  /** The Pods that a workload there would make. */
  podOf(kind: string, name: string): Promise<Pod>;
  stop(): Promise<void>;
}

const volumesSchema = z.object({
  volumes: z.array(z.object({ name: z.string(), secret: z.object({ secretName: z.string() }).optional() })),
});
const secretSchema = z.object({ data: z.record(z.string(), z.string()) });

export async function createNode(api: KubeApi, namespace: string): Promise<Node> {
  const onThisMachine = await findImagePrograms();
  const running: ChildProcess[] = [];

  async function secretValue({ name, key }: { name: string; key: string }): Promise<string> {
    const text = await api.kubectl(["get", "secret", name, "--namespace", namespace, "--output", "json"]);
    const value = secretSchema.parse(JSON.parse(text)).data[key];
    if (value === undefined) throw new Error(`The Secret ${name} has no ${key}.`);
    return Buffer.from(value, "base64").toString();
  }

  async function environmentOf(pod: Pod, container: Container): Promise<Record<string, string>> {
    const fields: Record<string, string> = { "metadata.name": `${pod.owner}-0`, "metadata.namespace": namespace };
    const entries = await Promise.all(
      container.env.map(async ({ name, value, valueFrom }): Promise<[string, string]> => {
        if (valueFrom?.secretKeyRef !== undefined) return [name, await secretValue(valueFrom.secretKeyRef)];
        return [name, valueFrom?.fieldRef === undefined ? (value ?? "") : (fields[valueFrom.fieldRef.fieldPath] ?? "")];
      }),
    );
    return Object.fromEntries(entries);
  }

  async function podOf(kind: string, name: string): Promise<Pod> {
    const [pod] = podsOf(parseObjects(await api.kubectl(["get", kind, name, "--namespace", namespace, "--output", "yaml"])));
    if (pod === undefined) throw new Error(`The ${kind} ${name} makes no Pods.`);
    return pod;
  }

  async function run(words: readonly string[], environment: Record<string, string>): Promise<string> {
    const { stdout } = await promisify(execFile)(process.execPath, words.map(onThisMachine), {
      cwd: ROOT,
      env: { ...COMPILE_CACHE, ...environment },
      timeout: 120_000,
    });
    return stdout;
  }

  async function mountInternalTls(pod: Pod, directory: string): Promise<string> {
    const { volumes } = volumesSchema.parse(pod.spec);
    const name = volumes.find((volume) => volume.name === "internal-tls")?.secret?.secretName;
    if (name === undefined) throw new Error(`${pod.owner} has no certificates.`);
    const text = await api.kubectl(["get", "secret", name, "--namespace", namespace, "--output", "json"]);
    const content = Object.entries(secretSchema.parse(JSON.parse(text)).data);
    const mounted = path.join(directory, name);
    await mountSecret(mounted, Object.fromEntries(content.map(([file, data]) => [file, Buffer.from(data, "base64").toString()])));
    return mounted;
  }

  return {
    environmentOf,
    mountInternalTls,
    run,
    async start({ name, command: [, ...words] }, { environment, readyUrl }) {
      const child = spawn(process.execPath, words.map(onThisMachine), {
        cwd: ROOT,
        env: { ...COMPILE_CACHE, ...environment },
        stdio: ["ignore", "pipe", "inherit"],
      });
      running.push(child);
      let log = "";
      child.stdout.setEncoding("utf8").on("data", (text: string) => (log += text));
      try {
        await eventually(
          async () => {
            const response = await fetch(readyUrl);
            if (response.status !== 200) throw new Error(await response.text());
          },
          // Compiled anew, on a machine that is busy with other things.
          { withinMs: 180_000 },
        );
      } catch (error) {
        throw new Error(`${name} is not ready:\n${log}`, { cause: error });
      }
    },
    podOf,
    async runJob(name) {
      const pod = await eventually(() => podOf("job", name), { withinMs: 60_000, everyMs: 200 });
      const [container] = pod.containers;
      if (container === undefined) throw new Error(`The Job ${name} runs nothing.`);
      const startTime = new Date().toISOString();
      await run(container.command.slice(1), await environmentOf(pod, container));
      const now = new Date().toISOString();
      const condition = (type: string) => ({ type, status: "True", lastTransitionTime: now, lastProbeTime: now });
      const status = {
        startTime,
        completionTime: now,
        succeeded: 1,
        conditions: [condition("SuccessCriteriaMet"), condition("Complete")],
        uncountedTerminatedPods: {},
      };
      const patch = JSON.stringify({ status });
      await api.kubectl([
        "patch",
        "job",
        name,
        "--namespace",
        namespace,
        "--subresource=status",
        "--type=merge",
        "--patch",
        patch,
      ]);
    },
    async stop() {
      for (const child of running.reverse()) {
        if (child.exitCode !== null || child.signalCode !== null) continue;
        const exited = once(child, "exit");
        child.kill("SIGTERM");
        await exited;
      }
    },
  };
}
