import { mkdtemp, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { startChild, type Child } from "../../../local/process/child.ts";
import { SERVER_STOP_STEPS } from "../kube/server.ts";
import { startRelay, type Address } from "./relay.ts";

const MAIN = fileURLToPath(new URL("main.ts", import.meta.url));

export interface OwnNetworkOptions {
  name: string;
  program: string;
  parameters: readonly string[];
  environment: Readonly<Record<string, string>>;
  /** For its log and its sockets. */
  directory: string;
  /** Loopback addresses outside that it reaches at the same address inside. */
  reaches: readonly Address[];
  /** What it serves, and where that is found outside. */
  serves: readonly { inside: Address; outside: Address }[];
}

/**
 * Starts a program that listens on all addresses in a network namespace of its own, where nobody else can reach it. Needs root or
 * user namespaces, `unshare` and `ip`.
 */
export async function startInOwnNetwork(options: OwnNetworkOptions): Promise<Pick<Child, "logFile" | "ended" | "stop">> {
  const { name, program, parameters, environment, directory, reaches, serves } = options;
  const sockets = await mkdtemp(path.join(directory, `${name}-`));
  const into = reaches.map((address, at) => ({ address, path: path.join(sockets, `in-${at}`) }));
  const outOf = serves.map((served, at) => ({ ...served, path: path.join(sockets, `out-${at}`) }));
  const relays = [
    ...(await Promise.all(into.map(({ address, path: socket }) => startRelay({ path: socket }, address)))),
    ...(await Promise.all(outOf.map(({ outside, path: socket }) => startRelay(outside, { path: socket })))),
  ];
  const settings = {
    program,
    parameters,
    relays: [
      ...into.map(({ address, path: socket }) => ({ from: address, to: { path: socket } })),
      ...outOf.map(({ inside, path: socket }) => ({ from: { path: socket }, to: inside })),
    ],
  };
  const child = await startChild({
    name,
    program: "unshare",
    parameters: ["--map-root-user", "--net", "--kill-child", process.execPath, MAIN, JSON.stringify(settings)],
    environment: { PATH: process.env["PATH"] ?? "", HOME: directory, ...environment },
    logs: directory,
    hasChannel: false,
    stopSteps: SERVER_STOP_STEPS,
    onComplaint: () => {},
  });
  return {
    logFile: child.logFile,
    ended: child.ended,
    async stop() {
      for (const relay of relays) relay.stop();
      await child.stop();
      await rm(sockets, { recursive: true, force: true });
    },
  };
}
