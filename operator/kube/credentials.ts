import { readFile } from "node:fs/promises";
import type { RequestOptions } from "node:https";
import { isIPv6 } from "node:net";
import path from "node:path";

/** How a Pod reaches its cluster's API server. */
export interface KubeAccess {
  /** `https://10.96.0.1:443` */
  server: URL;
  /** The authority, and the token in a header. */
  authenticate(): Promise<Pick<RequestOptions, "ca"> & { headers: { authorization: string } }>;
}

/** What Kubernetes tells a Pod about its API server. */
export interface PodEnvironment {
  /** KUBERNETES_SERVICE_HOST, KUBERNETES_SERVICE_PORT. */
  host: string;
  port: number;
  /** Stands before /var/run/secrets/kubernetes.io/serviceaccount; empty in a Pod. */
  pathPrefix: string;
}

/** Reaches the API server with the credentials of the Pod's ServiceAccount. */
export function accessFromPod({ host, port, pathPrefix }: PodEnvironment): KubeAccess {
  const mounted = path.join(pathPrefix, "/var/run/secrets/kubernetes.io/serviceaccount");
  return {
    server: new URL(`https://${isIPv6(host) ? `[${host}]` : host}:${port}`),
    async authenticate() {
      // Read for each request: kubelet renews the token, and the authority may be exchanged.
      const [ca, token] = await Promise.all(["ca.crt", "token"].map((name) => readCredential(path.join(mounted, name))));
      return { ca, headers: { authorization: `Bearer ${token}` } };
    },
  };
}

async function readCredential(file: string): Promise<string> {
  try {
    return (await readFile(file, "utf8")).trim();
  } catch (error) {
    throw new Error(`${file} cannot be read: mount the ServiceAccount's token into the Pod.`, { cause: error });
  }
}
