import * as z from "zod";
import type { ProviderKeyState } from "../../contract/provider-key.ts";
import type { Fingerprint } from "../../runtime/credential-fingerprint.ts";
import type { Database, Queryable, Reader } from "../postgres/database.ts";
import { lockAccounts, refreshAccounts } from "./provider-keys.ts";

/** A key as operators read it. */
export interface SealedProviderKey {
  id: string;
  accountId: string;
  provider: string;
  origin: string;
  sealingKeyId: string;
  sealed: Buffer;
  version: number;
}

/** What has become of one. */
export interface ServedProviderKey {
  id: string;
  accountId: string;
  version: number;
  state: ProviderKeyState;
  fingerprints: readonly Fingerprint[];
}

/** More than any Envoy has clusters for. */
const MAX_READ = 20_000;

const sealedRow = z.strictObject({
  id: z.string(),
  accountId: z.string(),
  provider: z.string(),
  origin: z.string(),
  sealingKeyId: z.string(),
  sealed: z.instanceof(Buffer),
  version: z.int(),
});

/** Of accounts that are served; oldest first: those keep their place. */
export async function readSealedKeys(database: Reader): Promise<SealedProviderKey[]> {
  return database.query({
    text: `SELECT provider_key.id, account_id AS "accountId", provider, origin, sealing_key_id AS "sealingKeyId", sealed, version
           FROM provider_key JOIN account ON account.id = account_id WHERE status = 'active'
           ORDER BY provider_key.id LIMIT $1`,
    values: [MAX_READ],
    row: sealedRow,
  });
}

/** A key that was replaced or deleted in the meantime stays as it is. */
export async function noteServed(database: Database, keys: readonly ServedProviderKey[]): Promise<void> {
  await database.transaction(async (transaction) => {
    const changed = await findChanged(transaction, keys);
    if (changed.length === 0) return;
    const accountIds = [...new Set(changed.map(({ accountId }) => accountId))];
    await lockAccounts(transaction, accountIds);
    await transaction.execute(
      `UPDATE provider_key SET state = news.state, served_version = news.version, fingerprints = news.fingerprints
       FROM unnest($1::uuid[], $2::integer[], $3::text[], $4::jsonb[]) AS news (id, version, state, fingerprints)
       WHERE provider_key.id = news.id AND provider_key.version = news.version`,
      columnsOf(changed),
    );
    await refreshAccounts(transaction, accountIds);
  });
}

async function findChanged(transaction: Queryable, keys: readonly ServedProviderKey[]): Promise<ServedProviderKey[]> {
  if (keys.length === 0) return [];
  const rows = await transaction.query({
    text: `SELECT provider_key.id FROM provider_key
           JOIN unnest($1::uuid[], $2::integer[], $3::text[], $4::jsonb[]) AS news (id, version, state, fingerprints)
             ON provider_key.id = news.id AND provider_key.version = news.version
           WHERE served_version IS DISTINCT FROM news.version OR provider_key.state <> news.state
             OR provider_key.fingerprints <> news.fingerprints`,
    values: columnsOf(keys),
    row: z.strictObject({ id: z.string() }),
  });
  const ids = new Set(rows.map(({ id }) => id));
  return keys.filter(({ id }) => ids.has(id));
}

function columnsOf(keys: readonly ServedProviderKey[]): unknown[] {
  return [
    keys.map(({ id }) => id),
    keys.map(({ version }) => version),
    keys.map(({ state }) => state),
    keys.map(({ fingerprints }) => JSON.stringify(fingerprints)),
  ];
}

/** The same value, sealed to another key. @returns false if it was replaced or deleted in the meantime. */
export async function reseal(
  database: Queryable,
  { id, version, sealingKeyId, sealed }: Pick<SealedProviderKey, "id" | "version" | "sealingKeyId" | "sealed">,
): Promise<boolean> {
  const written = await database.execute(
    "UPDATE provider_key SET sealed = $3, sealing_key_id = $4 WHERE id = $1 AND version = $2",
    [id, version, sealed, sealingKeyId],
  );
  return written > 0;
}
