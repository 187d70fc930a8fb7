import path from "node:path";
import type { ExtprocAddress } from "../operator/bootstrap/extproc-cluster.ts";
import { freePorts, LOOPBACK } from "./process/ports.ts";

/**
 * Where each worker of extproc listens. A single one is reached by a socket that only this user can use; Envoy tells several
 * apart by their ports.
 */
export async function extprocAddresses(workers: number, socketDirectory: string): Promise<ExtprocAddress[]> {
  if (workers === 1) return [{ path: path.join(socketDirectory, "extproc.sock") }];
  return (await freePorts(workers)).map((port) => ({ host: LOOPBACK, port }));
}

/** As `EXTPROC_LISTEN` has it. */
export function addressText(address: ExtprocAddress): string {
  return "path" in address ? `unix:${address.path}` : `${address.host}:${address.port}`;
}
