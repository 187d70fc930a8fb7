import path from "node:path";
import type { ExtprocAddress } from "../operator/bootstrap/extproc-cluster.ts";
import { freePorts, LOOPBACK } from "./process/ports.ts";

/**
 * Where each worker of extproc listens. A single one uses a socket that only this user can access; Envoy distinguishes several by
 * their ports.
 */
export async function extprocAddresses(workers: number, socketDirectory: string): Promise<ExtprocAddress[]> {
  if (workers === 1) return [{ path: path.join(socketDirectory, "extproc.sock") }];
  return (await freePorts(workers)).map((port) => ({ host: LOOPBACK, port }));
}

/** In the format of `EXTPROC_LISTEN`. */
export function addressText(address: ExtprocAddress): string {
  return "path" in address ? `unix:${address.path}` : `${address.host}:${address.port}`;
}
