import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeObject } from "../kube/object.ts";
import { objectPath } from "../kube/paths.ts";

/** Keeps an ApiKey until its key is refused everywhere. */
export const FINALIZER = `${GROUP}/revoke`;

/** A separate field manager: applying without it removes it, and nothing else. */
const MANAGER = "model-gateway-finalizer";

export async function setFinalizer(client: Pick<KubeClient, "send">, object: KubeObject, isWanted: boolean): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  const metadata = { name, namespace, uid, ...(isWanted ? { finalizers: [FINALIZER] } : {}) };
  await client.send({
    method: "PATCH",
    path: objectPath("apikeys", { namespace, name }),
    query: { fieldManager: MANAGER, force: "true" },
    body: { type: "apply", content: { apiVersion: `${GROUP}/${VERSION}`, kind: "ApiKey", metadata } },
  });
}
