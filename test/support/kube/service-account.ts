import { mkdir, writeFile } from "node:fs/promises";
import path from "node:path";
import * as z from "zod";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { writeKubeconfig } from "./commands.ts";
import type { KubeRequests } from "./requests.ts";

export interface ServiceAccount {
  namespace: string;
  name: string;
}

/** The files of a Pod with a ServiceAccount, below a root of their own, and its environment. */
export interface PodMount {
  /** Stands before /var/run/secrets/kubernetes.io/serviceaccount. */
  pathPrefix: string;
  environment: { KUBERNETES_SERVICE_HOST: string; KUBERNETES_SERVICE_PORT: string };
}

const TOKEN_SECONDS = 7_200;
const tokenSchema = z.object({ status: z.object({ token: z.string() }) });

interface Deps {
  send: KubeRequests["send"];
  directory: string;
  port: number;
  ca: string;
}

/** Credentials of ServiceAccounts that are there already, each with the rights that RBAC gives it. */
export function createServiceAccounts({ send, directory, port, ca }: Deps) {
  /** A token as kubelet asks for one, by TokenRequest. */
  async function tokenFor({ namespace, name }: ServiceAccount): Promise<string> {
    const answer = await send(`/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`, {
      how: "POST",
      content: { apiVersion: "authentication.k8s.io/v1", kind: "TokenRequest", spec: { expirationSeconds: TOKEN_SECONDS } },
    });
    return tokenSchema.parse(answer).status.token;
  }

  return {
    tokenFor,
    /** For kubectl and helm: the path of a kubeconfig. */
    async kubeconfigFor(account: ServiceAccount): Promise<string> {
      const file = path.join(directory, `${account.namespace}.${account.name}.kubeconfig`);
      return await writeKubeconfig({ file, port, ca, token: await tokenFor(account), namespace: account.namespace });
    },
    /** For a process that is to believe that it runs in a Pod. Called again, it renews the token in the same place. */
    async mountFor(account: ServiceAccount): Promise<PodMount> {
      const pathPrefix = path.join(directory, "pods", account.namespace, account.name);
      const mounted = path.join(pathPrefix, "var/run/secrets/kubernetes.io/serviceaccount");
      await mkdir(mounted, { recursive: true });
      const files = { token: await tokenFor(account), "ca.crt": ca, namespace: account.namespace };
      for (const [name, text] of Object.entries(files)) await writeFile(path.join(mounted, name), text, { mode: 0o600 });
      return { pathPrefix, environment: { KUBERNETES_SERVICE_HOST: LOOPBACK, KUBERNETES_SERVICE_PORT: String(port) } };
    },
  };
}
