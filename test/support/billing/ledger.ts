import { v7 as uuidv7 } from "uuid";
import * as z from "zod";
import type { CatalogueModel } from "../../../contract/catalogue.ts";
import { PROFILES } from "../../../contract/profile.ts";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database, Queryable } from "../../../ledger/postgres/database.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import type { Price } from "../../../ledger/money.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";

export const PEPPER = Buffer.alloc(32, 7);

export const PRICE: Price = {
  inputPicoUsd: 300_000n,
  cachedInputPicoUsd: 30_000n,
  cacheWritePicoUsd: 300_000n,
  outputPicoUsd: 1_200_000n,
  unitPicoUsd: 0n,
};

export function catalogueModel(name: string, changes: Partial<CatalogueModel> = {}): CatalogueModel {
  return {
    name,
    aliases: [],
    interfaces: ["chat", "messages"],
    contextWindow: 131_072,
    maxOutputTokens: 8192,
    createdSeconds: 1_700_000_000,
    backends: [
      {
        name: "main",
        cluster: `${name}/main`,
        protocol: "chat",
        basePath: "/v1",
        upstreamModel: name,
        weight: 1,
        priority: 0,
        profile: PROFILES.generic,
      },
    ],
    ...changes,
  };
}

export interface Customer {
  accountId: string;
  keyId: string;
  /** The full value of the key. */
  key: string;
}

export async function createCustomer(database: Database, accountId: string): Promise<Customer> {
  await createAccount(database, { id: accountId, name: accountId });
  const { publicId, value } = await createApiKey(database, { accountId, name: "test", pepper: PEPPER });
  return { accountId, keyId: publicId, key: value };
}

/** A customer with a model to use. */
export async function seedLedger(database: Database, accountId = "acme"): Promise<Customer> {
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  return createCustomer(database, accountId);
}

/** A settlement of 100 in, 50 out; its id is new. */
export function settlementOf(
  { accountId, keyId }: Pick<Customer, "accountId" | "keyId">,
  changes: Partial<Settlement> = {},
): Settlement {
  return {
    requestId: uuidv7(),
    attempt: 1,
    accountId,
    keyId,
    model: "modelx-v4-pro",
    interface: "chat",
    upstreamProtocol: "chat",
    backend: "main",
    priceVersionId: 1n,
    usage: { inputTokens: 100, cachedInputTokens: 0, cacheWriteTokens: 0, outputTokens: 50, reasoningTokens: 10 },
    isEstimated: false,
    chargeNanoUsd: 90_000n,
    leaseId: null,
    httpStatus: 200,
    outcome: "complete",
    isStream: false,
    startedAt: new Date(),
    durationMs: 420,
    firstTokenMs: null,
    ...changes,
  };
}

const countRow = z.strictObject({ count: z.bigint() });

type CountedTable =
  | "ledger_entry"
  | "usage_event"
  | "usage_label"
  | "usage_by_label"
  | "price_version"
  | "account"
  | "person"
  | "session"
  | "password_reset"
  | "sign_in_failure"
  | "person_totp"
  | "recovery_code"
  | "passkey"
  | "answered_challenge"
  | "prompt_record";

export async function countRows(database: Queryable, table: CountedTable): Promise<bigint> {
  const [row] = await database.query({ text: `SELECT count(*) AS count FROM ${table}`, row: countRow });
  return row?.count ?? 0n;
}

/** Accounts whose balance is not the sum of their entries; there must be none, ever. */
export async function wrongBalances(database: Queryable): Promise<unknown[]> {
  return database.query({
    text: `SELECT account_id, posted_nano_usd, coalesce(sum(amount_nano_usd), 0)::bigint AS entries
           FROM account_balance LEFT JOIN ledger_entry USING (account_id)
           GROUP BY account_id HAVING posted_nano_usd <> coalesce(sum(amount_nano_usd), 0)`,
    row: z.unknown(),
  });
}
