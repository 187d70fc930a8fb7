import type { Database } from "../../ledger/postgres/database.ts";
import { readRevokedForMs, revokeResourceKey } from "../../ledger/keys/resource-keys.ts";
import type { KubeClient } from "../kube/client.ts";
import type { KubeObject } from "../kube/object.ts";
import { dropFinalizer, FINALIZER } from "./finalizer.ts";

export interface ReleaseDeps {
  client: Pick<KubeClient, "send">;
  database: Database;
  /** Whether this process may write now. */
  isLeader(): boolean;
}

/**
 * Deleting a key stops it everywhere within one second (S25). The finalizer stays for that long after the revocation is
 * committed, so that when `kubectl delete` has returned, the key is refused.
 */
const PROPAGATION_MS = 1_000;

/**
 * Revokes the key of an ApiKey that is being deleted, then lets the ApiKey go. Nothing of its spec is read: what another version
 * wrote, and this one finds invalid, must not outlive its deletion.
 * @returns in how many ms to call it again; null if it is done.
 */
export async function releaseApiKey({ client, database, isLeader }: ReleaseDeps, object: KubeObject): Promise<number | null> {
  const { uid, finalizers } = object.metadata;
  if (!finalizers.includes(FINALIZER)) return null;
  await revokeResourceKey(database, uid);
  const revokedForMs = await readRevokedForMs(database, uid);
  if (revokedForMs !== null && revokedForMs < PROPAGATION_MS) return Math.ceil(PROPAGATION_MS - revokedForMs);
  if (isLeader()) await dropFinalizer(client, object);
  return null;
}
