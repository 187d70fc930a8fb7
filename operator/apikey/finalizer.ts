import { GROUP, VERSION } from "../crd/group.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeObject } from "../kube/object.ts";
import { objectPath } from "../kube/paths.ts";

/** Keeps an ApiKey until its key is refused everywhere. */
export const FINALIZER = `${GROUP}/revoke`;

const MANAGER = "model-gateway-finalizer";

/** By server-side apply, which leaves other finalizers alone. */
export async function addFinalizer(client: Pick<KubeClient, "send">, object: KubeObject): Promise<void> {
  const { name, namespace, uid } = object.metadata;
  const metadata = { name, namespace, uid, finalizers: [FINALIZER] };
  await client.send({
    method: "PATCH",
    path: objectPath("apikeys", { namespace, name }),
    query: { fieldManager: MANAGER, force: "true" },
    body: { type: "apply", content: { apiVersion: `${GROUP}/${VERSION}`, kind: "ApiKey", metadata } },
  });
}

/**
 * Whoever added it: an apply would remove only what the operator owns, and nothing from an ApiKey that was restored from a backup
 * with its finalizer, or whose field ownership was cleared.
 * @throws KubeError 409 if the object has changed since it was read.
 */
export async function dropFinalizer(client: Pick<KubeClient, "send">, object: KubeObject): Promise<void> {
  const { name, namespace, uid, resourceVersion, finalizers } = object.metadata;
  const others = finalizers.filter((finalizer) => finalizer !== FINALIZER);
  await client.send({
    method: "PATCH",
    path: objectPath("apikeys", { namespace, name }),
    query: { fieldManager: MANAGER },
    body: { type: "merge", content: { metadata: { uid, resourceVersion, finalizers: others } } },
  });
}
