import type { RequestOptions } from "node:https";

/** How a Pod reaches its cluster's API server. */
export interface KubeAccess {
  /** `https://10.96.0.1:443` */
  server: URL;
  /** The authority, and the token in a header, which is read again as kubelet renews it. */
  authenticate(): Promise<Omit<RequestOptions, "headers"> & { headers: Record<string, string> }>;
}

/**
 * Reads what kubelet gives a Pod: its ServiceAccount's token, the authority, where the server is.
 * @param pathPrefix stands before /var/run/secrets; empty in a Pod.
 * @throws Error with one sentence where this is not a Pod.
 */
export async function loadFromPod(pathPrefix: string): Promise<KubeAccess> {
  // Only where it is used: the library takes 70 MB and most of a second.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromCluster(pathPrefix);
  const cluster = config.getCurrentCluster();
  if (cluster === null || !URL.canParse(cluster.server) || cluster.server.includes("undefined"))
    throw new Error("The Kubernetes API is not known: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set.");
  return {
    server: new URL(cluster.server),
    async authenticate() {
      const options = { headers: {} };
      await config.applyToHTTPSOptions(options);
      return options;
    },
  };
}
