import { readFile } from "node:fs/promises";
import { expect } from "vitest";
import * as z from "zod";
import { createAccount, readBalance } from "../../../ledger/accounts/accounts.ts";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createApiKey, parseApiKey, revokeApiKey } from "../../../ledger/keys/keys.ts";
import type { Usage } from "../../../contract/usage.ts";
import type { Price } from "../../../ledger/money.ts";
import type { Stack } from "../../../local/stack.ts";
import { eventually } from "../eventually.ts";
import { CHARGE_COLUMNS, chargeShape, nestCharge, USAGE_WITH_PRICE } from "../billing/charge-row.ts";
import { scrape } from "./metrics.ts";

export interface TestCustomer {
  apiKey: string;
  accountId: string;
  /** Deletes the key in the database, as the dashboard would. */
  revoke(): Promise<void>;
}

export interface UsageRow {
  model: string;
  interface: string;
  upstreamProtocol: string;
  backend: string;
  usage: Usage;
  isEstimated: boolean;
  outcome: string;
  httpStatus: number;
  chargeNanoUsd: bigint;
  price: Price;
}

/** Reads and writes of tests in the database of a running product. */
export interface ProductBooks {
  readonly database: Database;
  /** Waits until the request is settled. */
  usageOf(requestId: string): Promise<UsageRow[]>;
  /** Amounts of the ledger entries of a request, nano-USD. */
  entriesOf(requestId: string): Promise<bigint[]>;
  countUsage(): Promise<number>;
  /** Of the account that `apiKey` belongs to, unless another is named. */
  balanceNanoUsd(accountId?: string): Promise<bigint>;
  /** Of the same account. */
  sumOfEntries(accountId?: string): Promise<bigint>;
  grant(accountId: string, amountNanoUsd: bigint): Promise<void>;
  createAccount(account: { name: string; creditNanoUsd: bigint }): Promise<TestCustomer>;
  /** Waits until no request runs and no settlement waits for the database. */
  idle(): Promise<ReadonlyMap<string, number>>;
}

type Addresses =
  | "baseUrl"
  | "apiKey"
  | "databaseUrl"
  | "simulatorUrl"
  | "envoyAdminUrl"
  | "extprocAdminUrl"
  | "xdsSocket"
  | "served";

/** The whole product, running, for tests that end none of its processes. */
export interface TestProduct extends Pick<Stack, Addresses>, ProductBooks {
  readonly directory: Pick<Stack["directory"], "logs" | "pepper">;
  /** The account of `apiKey`. */
  readonly accountId: string;
  /** Warnings and errors that the parts logged. */
  readonly complaints: readonly string[];
  /** Ends the test file's use of it. */
  stop(): Promise<void>;
}

type Running = Pick<Stack, "baseUrl" | "databaseUrl" | "extprocAdminUrl"> & { directory: Pick<Stack["directory"], "pepper"> };

/** @param nameAccount makes an account's id of the name that a test gives it */
export async function openBooks(
  { baseUrl, databaseUrl, extprocAdminUrl, directory }: Running,
  { accountId: ownAccount, nameAccount }: { accountId: string; nameAccount: (name: string) => string },
): Promise<ProductBooks> {
  const database = createDatabase({ url: databaseUrl, applicationName: "test" });
  const pepper = Buffer.from((await readFile(directory.pepper, "utf8")).trim(), "base64");

  async function grant(accountId: string, amountNanoUsd: bigint): Promise<void> {
    await postCredit(database, { accountId, kind: "grant", amountNanoUsd, reference: `test credit of ${accountId}` });
  }

  async function readUsage(requestId: string): Promise<UsageRow[]> {
    const rows = await database.query({ text: USAGE_QUERY, values: [requestId], row: usageRow });
    expect(rows.length, `usage rows of ${requestId}`).toBeGreaterThan(0);
    return rows.map(nestCharge);
  }

  return {
    database,
    grant,
    idle: () => eventually(() => expectIdle(extprocAdminUrl)),
    usageOf: (requestId) => eventually(() => readUsage(requestId)),
    async entriesOf(requestId) {
      const rows = await database.query({
        text: "SELECT amount_nano_usd AS amount FROM ledger_entry WHERE request_id = $1",
        values: [requestId],
        row: z.strictObject({ amount: z.bigint() }),
      });
      return rows.map(({ amount }) => amount);
    },
    async countUsage() {
      const [row] = await database.query({
        text: "SELECT count(*) AS count FROM usage_event",
        row: z.strictObject({ count: z.bigint() }),
      });
      return Number(row?.count ?? 0n);
    },
    balanceNanoUsd: async (accountId = ownAccount) => (await readBalance(database, accountId)).postedNanoUsd,
    async sumOfEntries(accountId = ownAccount) {
      const [row] = await database.query({
        text: "SELECT coalesce(sum(amount_nano_usd), 0)::bigint AS sum FROM ledger_entry WHERE account_id = $1",
        values: [accountId],
        row: z.strictObject({ sum: z.bigint() }),
      });
      return row?.sum ?? 0n;
    },
    async createAccount({ name, creditNanoUsd }) {
      const accountId = nameAccount(name);
      await createAccount(database, { id: accountId, name });
      if (creditNanoUsd > 0n) await grant(accountId, creditNanoUsd);
      const { value } = await createApiKey(database, { accountId, name: "test", pepper });
      await eventually(() => expectKnown(baseUrl, value));
      return { apiKey: value, accountId, revoke: () => revoke(database, value) };
    },
  };
}

async function expectKnown(baseUrl: string, apiKey: string): Promise<void> {
  const response = await fetch(`${baseUrl}/v1/balance`, { headers: { "x-api-key": apiKey } });
  expect(response.status).toBe(200);
}

/** No request runs, and no settlement waits for the database. */
export async function expectIdle(adminUrl: string): Promise<ReadonlyMap<string, number>> {
  const metrics = await scrape(adminUrl);
  expect(metrics.get("gateway_open_streams")).toBe(0);
  expect(metrics.get("gateway_queued_settlements")).toBe(0);
  return metrics;
}

async function revoke(database: Database, apiKey: string): Promise<void> {
  const parsed = parseApiKey(apiKey);
  if (parsed.kind !== "key") throw new Error("the key that the test made does not have a key's form");
  await revokeApiKey(database, parsed.publicId);
}

const USAGE_QUERY = `
  SELECT u.model, u.interface, u.upstream_protocol AS "upstreamProtocol", u.backend, u.http_status AS "httpStatus", ${CHARGE_COLUMNS}
  FROM ${USAGE_WITH_PRICE} WHERE u.request_id = $1`;

const usageRow = z.strictObject({
  model: z.string(),
  interface: z.string(),
  upstreamProtocol: z.string(),
  backend: z.string(),
  httpStatus: z.number(),
  ...chargeShape,
});
