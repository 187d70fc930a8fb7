import type { RequestOptions } from "node:https";

/** How a Pod reaches its cluster's API server. */
export interface KubeAccess {
  /** `https://10.96.0.1:443` */
  server: URL;
  /** The authority, and the token in a header. Both are read again, because kubelet renews the token. */
  authenticate(): Promise<Omit<RequestOptions, "headers"> & { headers: Record<string, string> }>;
}

/**
 * Connects to the API server with the credentials of the Pod's ServiceAccount.
 * @param pathPrefix precedes /var/run/secrets/kubernetes.io/serviceaccount; empty in a Pod.
 * @throws Error with one sentence outside a Pod.
 */
export async function loadFromPod(pathPrefix: string): Promise<KubeAccess> {
  // Imported only where it is used: the library takes 70 MB and most of a second.
  const { KubeConfig } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  config.loadFromCluster(pathPrefix);
  const cluster = config.getCurrentCluster();
  // The library writes unset values into the address as a word.
  if (cluster === null || !URL.canParse(cluster.server) || cluster.server.includes("undefined"))
    throw new Error(
      "The Kubernetes API is not known: KUBERNETES_SERVICE_HOST and KUBERNETES_SERVICE_PORT are not set; Kubernetes sets both in every Pod.",
    );
  return {
    server: new URL(cluster.server),
    async authenticate() {
      const options = { headers: {} };
      try {
        await config.applyToHTTPSOptions(options);
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error);
        throw new Error(`The Pod's credentials cannot be read (${reason}): mount the ServiceAccount's token into the Pod.`, {
          cause: error,
        });
      }
      return options;
    },
  };
}
