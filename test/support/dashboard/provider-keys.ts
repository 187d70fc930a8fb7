import * as z from "zod";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { setProviderKey } from "../../../ledger/provider-keys/provider-keys.ts";
import { publishSealing } from "../../../ledger/provider-keys/sealing.ts";
import { boxKey } from "../../../runtime/sealed-box.ts";
import { catalogueModel, PEPPER, PRICE } from "../billing/ledger.ts";
import type { TestPostgres } from "../billing/postgres.ts";
import { openDashboard, type TestDashboard } from "./dashboard.ts";

/** A Model that accepts accounts' own keys for its provider, and an account that may enter one. */

export const PROVIDER_KEY = "px-own-Zk3v9QmT7wLr2YbN";
export const ORIGIN = "https://api.example.com";
/** Of the operator that publishes the offer. */
export const BOX_KEY = boxKey(Buffer.alloc(32, 1));
export const FEE = { requestPicoUsd: 100_000_000n, millionths: 100_000n };

export async function openWithOffer(postgres: TestPostgres, { maxClusters = 10 } = {}) {
  const { database } = await postgres.migrated();
  await publishOffer(database, [{ origin: ORIGIN, endpoint: "e1" }]);
  await publishSealing(database, { keyId: BOX_KEY.id, publicKey: BOX_KEY.publicKey, maxClusters }, PEPPER);
  const dashboard = await openDashboard(database);
  return { database, dashboard, ann: await ownerWithCredit(dashboard, "ann@example.com") };
}

export async function ownerWithCredit({ database, owner }: TestDashboard, email: string) {
  const signedIn = await owner(email);
  const { accountId } = signedIn;
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1n, reference: `grant of ${accountId}` });
  return signedIn;
}

export async function publishOffer(
  database: Database,
  servers: readonly { provider?: string; origin: string; endpoint: string }[],
): Promise<void> {
  const model = catalogueModel("modelx-v4-pro");
  const [backend] = model.backends;
  if (backend === undefined) throw new Error("a model has a backend");
  const backends = servers.map((server, index) => ({
    ...backend,
    name: `b${index}`,
    providerKey: { provider: "example", ...server },
  }));
  await publishModels(database, [{ model: { ...model, backends }, price: PRICE, providerKeyFee: FEE }]);
}

/** Enters the account's key without the dashboard, or replaces it. */
export async function enterProviderKey(database: Database, accountId: string, value = PROVIDER_KEY): Promise<void> {
  const actor = { accountId, personId: null, tokenId: null };
  await setProviderKey(database, actor, { provider: "example", origin: ORIGIN, value, pepper: PEPPER });
}

/** Rows that hold keys, or tell of them, as text. */
export async function dumpProviderKeys(database: Database): Promise<string> {
  const rows = await database.query({
    text: `SELECT provider_key::text || account::text AS text FROM provider_key JOIN account ON account.id = account_id
           UNION ALL SELECT audit_entry::text FROM audit_entry`,
    row: z.strictObject({ text: z.string() }),
  });
  return rows.map(({ text }) => text).join("\n");
}
