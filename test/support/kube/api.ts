import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { createCommand, writeKubeconfig, type Command } from "./commands.ts";
import type { KubeAccess } from "./lent.ts";
import { createRequests, type KubeRequests } from "./requests.ts";
import { startKubeServers, type KubeServers } from "./servers.ts";
import { createServiceAccounts, type PodMount, type ServiceAccount } from "./service-account.ts";
import { findKubeTools } from "./tools.ts";

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
  stop(): Promise<void>;
}

/** One whose servers can be made to fail. */
export interface OwnKubeApi extends KubeApi, Pick<KubeServers, "kill" | "restart" | "pause" | "resume"> {
  /**
   * Compacts etcd. The API server goes on serving earlier revisions from its watch cache: only after a `restart` is a
   * watch from an earlier one answered with 410.
   */
  compact(): Promise<void>;
}

/** An API whose servers run; `stop` leaves them running. */
export async function openKubeApi({ port, ca, adminToken }: KubeAccess): Promise<KubeApi> {
  const tools = await findKubeTools({ environment: process.env, onProgress: (line) => console.log(line) });
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-kube-client-"));
  const kubeconfig = await writeKubeconfig({ file: path.join(directory, "admin.kubeconfig"), port, ca, token: adminToken });
  const { send, close } = createRequests({ port, ca, adminToken });
  return {
    url: `https://${LOOPBACK}:${port}`,
    port,
    ca,
    kubeconfig,
    directory,
    kubectl: createCommand(tools.kubectl, { directory, kubeconfig }),
    helm: createCommand(tools.helm, { directory, kubeconfig }),
    read: (resource) => send(resource),
    send,
    ...createServiceAccounts({ send, directory, port, ca }),
    async stop() {
      close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

/** Starts its servers too. */
export async function startKubeApi(): Promise<OwnKubeApi> {
  const servers = await startKubeServers();
  const api = await openKubeApi(servers.access);
  const { kill, restart, pause, resume, etcd } = servers;
  return {
    ...api,
    kill,
    restart,
    pause,
    resume,
    compact: () => etcd.compact(),
    async stop() {
      await api.stop();
      await servers.stop();
    },
  };
}
