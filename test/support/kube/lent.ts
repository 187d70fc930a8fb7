import path from "node:path";
import * as z from "zod";

/** How the administrator reaches an API server. */
export const kubeAccessSchema = z.strictObject({
  port: z.int(),
  /** PEM of the server's authority. */
  ca: z.string(),
  /** Of a member of system:masters. */
  adminToken: z.string(),
});

export type KubeAccess = z.infer<typeof kubeAccessSchema>;

/** Of the pool of API servers, which have nothing but what Kubernetes itself makes. */
export function kubeServersSocket(runDirectory: string): string {
  return path.join(runDirectory, "kube.sock");
}
