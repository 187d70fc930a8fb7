import { createHmac, timingSafeEqual } from "node:crypto";
import * as z from "zod";
import { boxKeyId } from "../../runtime/sealed-box.ts";
import type { Queryable, Reader } from "../postgres/database.ts";

/** What the values of provider keys are sealed to, as an operator has published it. */
export interface Sealing {
  keyId: string;
  publicKey: Buffer;
  /** How many clusters of Envoy all provider keys together may take. */
  maxClusters: number;
}

const row = z.strictObject({
  publicKey: z.instanceof(Buffer),
  proof: z.instanceof(Buffer),
  maxClusters: z.int(),
});

/** @returns undefined if no operator takes provider keys, or the row was not written by one that has the pepper. */
export async function readSealing(database: Reader, pepper: Buffer): Promise<Sealing | undefined> {
  const [found] = await database.query({
    text: `SELECT public_key AS "publicKey", proof, max_clusters AS "maxClusters" FROM provider_key_sealing`,
    row,
  });
  if (found === undefined || !timingSafeEqual(found.proof, proofOf(found.publicKey, pepper))) return undefined;
  const { publicKey, maxClusters } = found;
  return { keyId: boxKeyId(publicKey), publicKey, maxClusters };
}

/** @param sealing null: provider keys are not taken any more; those that are stored stay. */
export async function publishSealing(database: Queryable, sealing: Sealing | null, pepper: Buffer): Promise<void> {
  if (sealing === null) {
    await database.execute("DELETE FROM provider_key_sealing");
    return;
  }
  const { keyId, publicKey, maxClusters } = sealing;
  await database.execute(
    `INSERT INTO provider_key_sealing AS known (key_id, public_key, proof, max_clusters) VALUES ($1, $2, $3, $4)
     ON CONFLICT (is_only) DO UPDATE
     SET key_id = excluded.key_id, public_key = excluded.public_key, proof = excluded.proof, max_clusters = excluded.max_clusters
     WHERE (known.public_key, known.proof, known.max_clusters) <> (excluded.public_key, excluded.proof, excluded.max_clusters)`,
    [keyId, publicKey, proofOf(publicKey, pepper), maxClusters],
  );
}

/**
 * What a sealed value is about: moved to another row, it does not open. Nor does one that was sealed without the pepper: whoever can
 * only write the database, where the public key is, cannot send an account's requests with a key of their own.
 */
export function aboutProviderKey(
  key: { id: string; accountId: string; provider: string; origin: string },
  pepper: Buffer,
): string {
  const about = JSON.stringify(["provider key", key.id, key.accountId, key.provider, key.origin]);
  return createHmac("sha256", pepper).update("about a provider key\0").update(about).digest("hex");
}

function proofOf(publicKey: Buffer, pepper: Buffer): Buffer {
  return createHmac("sha256", pepper).update("sealing of provider keys\0").update(publicKey).digest();
}
