import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { errorCode } from "../../../runtime/error-code.ts";
import type { Child } from "../../../local/process/child.ts";
import { prepareApiServer, startApiServer } from "./api-server.ts";
import { startEtcd, type Etcd } from "./etcd.ts";
import type { KubeAccess } from "./lent.ts";
import { findKubeTools, type KubeTools } from "./tools.ts";

/** etcd and a kube-apiserver. */
export interface KubeServers {
  readonly access: KubeAccess;
  readonly etcd: Etcd;
  /** Ends the API server at once (SIGKILL); its data stays. */
  kill(): Promise<void>;
  /** Starts it again, on the same port and data; kills it first if it is running. Its watch cache is empty then. */
  restart(): Promise<void>;
  /** From now on it answers nothing, though its port is open (SIGSTOP). */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

/** Starts both on free loopback ports; a few seconds. */
export async function startKubeServers(): Promise<KubeServers> {
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

async function start({ tools, directory, servers, stop }: Parts): Promise<KubeServers> {
  const etcd = await startEtcd(tools.etcd, directory);
  servers.push(etcd.process);
  const settings = await prepareApiServer({ program: tools.apiServer, directory, etcdUrl: etcd.url });
  const { port, ca, adminToken } = settings;
  let server = await startApiServer(settings);
  servers.unshift(server);

  async function killServer(): Promise<void> {
    const at = servers.indexOf(server);
    // An ended process's id may by now belong to another.
    if (at === -1) return;
    kill(server.pid, "SIGKILL");
    await server.stop();
    servers.splice(at, 1);
  }

  return {
    access: { port, ca, adminToken },
    etcd,
    kill: killServer,
    async restart() {
      await killServer();
      server = await startApiServer(settings);
      servers.unshift(server);
    },
    pause: () => kill(server.pid, "SIGSTOP"),
    resume: () => kill(server.pid, "SIGCONT"),
    stop,
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
