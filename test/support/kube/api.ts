import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { errorCode } from "../../../runtime/error-code.ts";
import type { Child } from "../../../local/process/child.ts";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { prepareApiServer, startApiServer } from "./api-server.ts";
import { createCommand, writeKubeconfig, type Command } from "./commands.ts";
import { startEtcd } from "./etcd.ts";
import { createRequests, type KubeRequests } from "./requests.ts";
import { createServiceAccounts, type PodMount, type ServiceAccount } from "./service-account.ts";
import { findKubeTools, type KubeTools } from "./tools.ts";

/**
 * A Kubernetes API with RBAC, admission and CRDs, and with nothing behind it: no controller collects garbage, empties a
 * namespace that is deleted or makes Pods, and `helm --wait` waits forever.
 */
export interface KubeApi {
  readonly url: string;
  readonly port: number;
  /** PEM of the server's authority. */
  readonly ca: string;
  /** File with the administrator's access. */
  readonly kubeconfig: string;
  /** Scratch space; gone after `stop`. */
  readonly directory: string;
  /** As the administrator by default. */
  kubectl: Command;
  helm: Command;
  /** What `kubectl get --raw` prints, parsed. */
  read(resource: string): Promise<unknown>;
  send: KubeRequests["send"];
  tokenFor(account: ServiceAccount): Promise<string>;
  kubeconfigFor(account: ServiceAccount): Promise<string>;
  mountFor(account: ServiceAccount): Promise<PodMount>;
  /** Ends the API server at once (SIGKILL); its data stays. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and data; kills it first if it is running. Its watch cache is empty then. */
  restart(): Promise<void>;
  /** From now on it answers nothing, though its port is open (SIGSTOP). */
  pause(): void;
  resume(): void;
  /**
   * Compacts etcd. The API server goes on serving earlier revisions from its watch cache: only after a `restart` is a
   * watch from an earlier one answered with 410.
   */
  compact(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts etcd and kube-apiserver on free loopback ports; a few seconds. */
export async function startKubeApi(): Promise<KubeApi> {
  const tools = await findKubeTools({ environment: process.env, onProgress: (line) => console.log(line) });
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-kube-"));
  // Those that run, newest first.
  const servers: Child[] = [];
  // A test run that ends too early must not leave servers behind.
  const onExit = () => {
    for (const { pid } of servers) kill(pid, "SIGKILL");
  };
  process.once("exit", onExit);
  async function stop(): Promise<void> {
    for (const server of servers) await server.stop();
    process.off("exit", onExit);
    await rm(directory, { recursive: true, force: true });
  }
  try {
    return await start({ tools, directory, servers, stop });
  } catch (error) {
    await stop();
    throw error;
  }
}

interface Parts {
  tools: KubeTools;
  directory: string;
  servers: Child[];
  stop: () => Promise<void>;
}

async function start({ tools, directory, servers, stop }: Parts): Promise<KubeApi> {
  const etcd = await startEtcd(tools.etcd, directory);
  servers.push(etcd.process);
  const settings = await prepareApiServer({ program: tools.apiServer, directory, etcdUrl: etcd.url });
  const { port, ca, adminToken } = settings;
  let server = await startApiServer(settings);
  servers.unshift(server);

  const kubeconfig = await writeKubeconfig({ file: path.join(directory, "admin.kubeconfig"), port, ca, token: adminToken });
  const kubectl = createCommand(tools.kubectl, { directory, kubeconfig });
  const { send, close } = createRequests(settings);

  async function killServer(): Promise<void> {
    const at = servers.indexOf(server);
    // An ended process's id may by now belong to another.
    if (at === -1) return;
    kill(server.pid, "SIGKILL");
    await server.stop();
    servers.splice(at, 1);
  }

  return {
    url: `https://${LOOPBACK}:${port}`,
    port,
    ca,
    kubeconfig,
    directory,
    kubectl,
    helm: createCommand(tools.helm, { directory, kubeconfig }),
    read: (resource) => send(resource),
    send,
    ...createServiceAccounts({ send, directory, port, ca }),
    kill: killServer,
    async restart() {
      await killServer();
      server = await startApiServer(settings);
      servers.unshift(server);
    },
    pause: () => kill(server.pid, "SIGSTOP"),
    resume: () => kill(server.pid, "SIGCONT"),
    compact: () => etcd.compact(),
    async stop() {
      close();
      await stop();
    },
  };
}

/** A process that is gone hears nothing, and need not. */
function kill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if (errorCode(error) !== "ESRCH") throw error;
  }
}
