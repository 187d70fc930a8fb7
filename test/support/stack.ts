import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { expect } from "vitest";
import * as z from "zod";
import { startStack, type Stack } from "../../local/stack.ts";
import { createAccount, readBalance } from "../../ledger/accounts/accounts.ts";
import { createDatabase, type Database } from "../../ledger/postgres/database.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import { createApiKey, parseApiKey, revokeApiKey } from "../../ledger/keys/keys.ts";
import type { Usage } from "../../contract/usage.ts";
import type { Price } from "../../ledger/money.ts";
import { eventually } from "./eventually.ts";
import { CHARGE_COLUMNS, chargeShape, nestCharge, USAGE_WITH_PRICE } from "./charge-row.ts";
import { scrape } from "./metrics.ts";
import { copyPostgresTemplate } from "./postgres-template.ts";

/** The account that `npm start` makes, with 5 USD. */
const DEMO = "demo";

/** EXTPROC_WORKERS=2 runs any test with so many processes of extproc. */
const WORKERS = Number(process.env["EXTPROC_WORKERS"] ?? "1");

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

/** The whole product on this machine, as `npm start` runs it, with eyes on its database. */
export interface TestStack extends Stack {
  readonly database: Database;
  /** Waits until the request is settled. */
  usageOf(requestId: string): Promise<UsageRow[]>;
  /** Amounts of the ledger entries of a request, nano-USD. */
  entriesOf(requestId: string): Promise<bigint[]>;
  countUsage(): Promise<number>;
  balanceNanoUsd(accountId?: string): Promise<bigint>;
  sumOfEntries(accountId?: string): Promise<bigint>;
  createAccount(account: { name: string; creditNanoUsd: bigint }): Promise<TestCustomer>;
  /** Waits until no request runs and no settlement waits for the database. */
  idle(): Promise<ReadonlyMap<string, number>>;
  /** Warnings and errors that the parts logged. */
  readonly complaints: readonly string[];
}

export interface TestStackOptions {
  /** Beyond the 5 USD that the demo account starts with. */
  creditNanoUsd?: bigint;
  manifestsDirectory?: string;
  workers?: number;
  /** False where a part's end is the test's to bring about and to mend. */
  restartsParts?: boolean;
  /** Base address of an OTLP collector. */
  tracesUrl?: string;
  /** As `npm start` runs it: a database that syncs, and charges that gather as long as in production. For benches. */
  isMeasured?: boolean;
}

export async function startTestStack(options: TestStackOptions = {}): Promise<TestStack> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), "model-gateway-stack-"));
  const { isMeasured = false } = options;
  if (!isMeasured) await copyPostgresTemplate(path.join(dataDirectory, "postgres"));
  const complaints: string[] = [];
  const stack = await startStack({
    port: 0,
    dataDirectory,
    workers: options.workers ?? WORKERS,
    // Nearly every test waits for a charge.
    ...(isMeasured ? {} : { settleEveryMs: 20 }),
    ...(options.restartsParts === undefined ? {} : { restartsParts: options.restartsParts }),
    manifestsDirectory: options.manifestsDirectory ?? path.join(import.meta.dirname, "../../local/manifests"),
    environment: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: options.tracesUrl },
    onComplaint: (part, message) => complaints.push(`${part}: ${message}`),
  });
  const database = createDatabase({ url: stack.databaseUrl, applicationName: "test" });
  const pepper = Buffer.from((await readFile(stack.directory.pepper, "utf8")).trim(), "base64");
  if (options.creditNanoUsd !== undefined) await grant(DEMO, options.creditNanoUsd);

  async function grant(accountId: string, amountNanoUsd: bigint): Promise<void> {
    await postCredit(database, { accountId, kind: "grant", amountNanoUsd, reference: `test credit of ${accountId}` });
  }

  async function readUsage(requestId: string): Promise<UsageRow[]> {
    const rows = await database.query({ text: USAGE_QUERY, values: [requestId], row: usageRow });
    expect(rows.length, `usage rows of ${requestId}`).toBeGreaterThan(0);
    return rows.map(nestCharge);
  }

  return {
    ...stack,
    // A part that was started again has another one.
    get pids() {
      return stack.pids;
    },
    database,
    complaints,
    idle: () => eventually(() => expectIdle(stack.extprocAdminUrl)),
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
    balanceNanoUsd: async (accountId = DEMO) => (await readBalance(database, accountId)).postedNanoUsd,
    async sumOfEntries(accountId = DEMO) {
      const [row] = await database.query({
        text: "SELECT coalesce(sum(amount_nano_usd), 0)::bigint AS sum FROM ledger_entry WHERE account_id = $1",
        values: [accountId],
        row: z.strictObject({ sum: z.bigint() }),
      });
      return row?.sum ?? 0n;
    },
    async createAccount({ name, creditNanoUsd }) {
      await createAccount(database, { id: name, name });
      if (creditNanoUsd > 0n) await grant(name, creditNanoUsd);
      const { value } = await createApiKey(database, { accountId: name, name: "test", pepper });
      await eventually(() => expectKnown(stack.baseUrl, value));
      return { apiKey: value, accountId: name, revoke: () => revoke(database, value) };
    },
    async stop() {
      await database.close();
      await stack.stop();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}

async function expectKnown(baseUrl: string, apiKey: string): Promise<void> {
  const response = await fetch(`${baseUrl}/v1/balance`, { headers: { "x-api-key": apiKey } });
  expect(response.status).toBe(200);
}

async function expectIdle(adminUrl: string): Promise<ReadonlyMap<string, number>> {
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
