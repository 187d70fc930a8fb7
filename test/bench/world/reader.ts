import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import * as z from "zod";
import { limitsSchema } from "../../../contract/limits.ts";
import { createWorld } from "../../../extproc/world/world.ts";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { startFeed } from "../../../ledger/feed/feed.ts";

/** A process that loads all keys in one of two ways, and sends what it measured to the one that started it. */
export interface Measured {
  readyMs: number;
  keys: number;
  /** Of this process until then: on a machine that others use, too, time says little. */
  cpuMs: number;
  /** Of heap and array buffers after a full collection, less those before. */
  bytes: number;
  peakRssMiB: number;
  /** One key among those that requests have just used, and one among all. */
  hotLookupNs: number;
  coldLookupNs: number;
}

interface Loaded {
  keys: number;
  find(publicId: string): object | undefined;
  stop(): Promise<void>;
}

const HOT_KEYS = 1_000;
const LOOKUPS = 500_000;
const CASES: Readonly<Record<string, (database: Database) => Promise<Loaded>>> = { world: loadWorld, objects: loadObjects };

const { DATABASE_URL: url = "", METHOD: method = "" } = process.env;
const load = CASES[method];
if (load === undefined) throw new Error(`There is no way ${method}.`);
const database = createDatabase({ url, applicationName: "bench", statementTimeoutMs: 600_000 });
await database.execute("SELECT 1");
const before = await usedBytes();
const cpuBefore = process.cpuUsage();
const startedMs = performance.now();
const loaded = await load(database);
const readyMs = performance.now() - startedMs;
const { user, system } = process.cpuUsage(cpuBefore);
const bytes = (await usedBytes()) - before;
const ids = Array.from({ length: LOOKUPS }, (_, number) => String((number * 7_919) % loaded.keys).padStart(12, "0"));
const hotIds = Array.from({ length: LOOKUPS }, (_, number) => String((number * 7_919) % HOT_KEYS).padStart(12, "0"));
timeLookups(loaded, hotIds);
const measured: Measured = {
  readyMs,
  cpuMs: (user + system) / 1000,
  keys: loaded.keys,
  bytes,
  peakRssMiB: process.resourceUsage().maxRSS / 1024,
  hotLookupNs: timeLookups(loaded, hotIds),
  coldLookupNs: timeLookups(loaded, ids),
};
await new Promise((resolve) => process.send?.(measured, resolve));
await loaded.stop();
await database.close();

/** As extproc does it. */
async function loadWorld(from: Database): Promise<Loaded> {
  const world = createWorld({ lastHeardMs: () => feed.lastSuccessAt });
  const feed = startFeed({ database: from, onReload: world.reload, onChange: world.apply });
  await feed.ready;
  return { keys: world.keys, find: world.findKey, stop: () => feed.stop() };
}

/** The baseline: one statement, and an object for each row. */
async function loadObjects(from: Database): Promise<Loaded> {
  const accounts = await from.query({
    text: `SELECT id AS "accountId", status = 'suspended' AS "isSuspended", posted_nano_usd AS "postedNanoUsd",
             overdraft_nano_usd AS "overdraftNanoUsd", version, limits FROM account JOIN account_balance ON account_id = id`,
    row: z.strictObject({
      accountId: z.string(),
      isSuspended: z.boolean(),
      postedNanoUsd: z.bigint(),
      overdraftNanoUsd: z.bigint(),
      version: z.bigint(),
      limits: limitsSchema,
    }),
  });
  const keys = await from.query({
    text: `SELECT public_id AS "publicId", account_id AS "accountId", name, secret_hash AS "secretHash",
             previous_secret_hash AS "previousHash", previous_until AS "previousUntil", revoked_at IS NOT NULL AS "isRevoked",
             disabled_at IS NOT NULL AS "isDisabled", expires_at AS "expiresAt", allowed_models AS "allowedModels", limits
           FROM api_key`,
    row: z.strictObject({
      publicId: z.string(),
      accountId: z.string(),
      name: z.string(),
      secretHash: z.instanceof(Buffer),
      previousHash: z.instanceof(Buffer).nullable(),
      previousUntil: z.date().nullable(),
      isRevoked: z.boolean(),
      isDisabled: z.boolean(),
      expiresAt: z.date().nullable(),
      allowedModels: z.array(z.string()).nullable(),
      limits: limitsSchema,
    }),
  });
  const byId = new Map(keys.map((key) => [key.publicId, key]));
  const accountsById = new Map(accounts.map((account) => [account.accountId, account]));
  return {
    keys: byId.size,
    find: (publicId) => byId.get(publicId),
    stop: async () => void (await Promise.resolve(accountsById.size)),
  };
}

function timeLookups({ find }: Loaded, publicIds: readonly string[]): number {
  const from = performance.now();
  let found = 0;
  for (const id of publicIds) if (find(id) !== undefined) found++;
  if (found !== publicIds.length) throw new Error("A key was not found.");
  return ((performance.now() - from) * 1e6) / publicIds.length;
}

async function usedBytes(): Promise<number> {
  for (let round = 0; round < 3; round++) {
    globalThis.gc?.();
    await sleep(50);
  }
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}
