import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { v7 as uuidv7 } from "uuid";
import { createWorld } from "../../../extproc/world/world.ts";
import { startFeed } from "../../../ledger/feed/feed.ts";
import { createLeaseBank } from "../../../ledger/leases/lease-bank.ts";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { settlementOf } from "../../support/billing/ledger.ts";
import { markdownTable } from "../../support/documents/markdown-table.ts";
import { createCustomers } from "../customers.ts";
import { readUse } from "../processes.ts";

/**
 * `npm run bench:feed`: what the change feed costs Postgres and extproc while accounts are settled, by processes. Each settles twice
 * a second, as in production, from leases of its own, and follows the feed. All are in one Node.js process here.
 */
const PROCESSES = [1, 8, 32];
const ACCOUNTS = 1_000;
const SETTLE_EVERY_MS = 500;
/** Accounts that had a request on a process since it settled last. */
const SETTLED_AT_ONCE = 50;
const MEASURED_MS = 10_000;
const CREDIT_NANO_USD = 1_000_000_000_000n;
const LEASE = { ttlMs: 90_000, minNanoUsd: 50_000_000n, maxNanoUsd: 5_000_000_000n };

const dataDirectory = await mkdtemp(path.join(tmpdir(), "gateway-bench-"));
const server = await startPostgres({ dataDirectory });
const database = createDatabase({ url: server.url, applicationName: "bench", maxConnections: 16 });

/** Of a core, while some work goes on. */
interface Cost {
  postgres: number;
  own: number;
}

async function measure(): Promise<Cost> {
  const before = { postgresMs: (await readUse([server.pid])).cpuMs, own: process.cpuUsage(), atMs: performance.now() };
  await sleep(MEASURED_MS);
  const ms = performance.now() - before.atMs;
  const own = process.cpuUsage(before.own);
  return {
    postgres: ((await readUse([server.pid])).cpuMs - before.postgresMs) / ms,
    own: (own.user + own.system) / 1000 / ms,
  };
}

interface Settling {
  /** Settlements since it began. */
  readonly count: number;
  stop(): Promise<void>;
}

/** Begins once each process has a lease of each account. */
async function startSettling(customers: readonly Parameters<typeof settlementOf>[0][], processes: number): Promise<Settling> {
  let count = 0;
  const stopping = new AbortController();

  async function lease(): Promise<ReadonlyMap<string, string>> {
    const bank = createLeaseBank(database, uuidv7(), LEASE);
    const leases = customers.map(({ accountId }) => ({ accountId, leaseId: uuidv7() }));
    const wanted = { isNew: true, neededNanoUsd: 0n, wantedNanoUsd: 1_000_000_000n };
    await Promise.all(leases.map((each) => bank.grow({ ...each, ...wanted })));
    return new Map(leases.map(({ accountId, leaseId }) => [accountId, leaseId]));
  }

  async function settleInTurn(leases: ReadonlyMap<string, string>, own: number): Promise<void> {
    await sleep((own / processes) * SETTLE_EVERY_MS);
    for (let from = own * 389; !stopping.signal.aborted; from += SETTLED_AT_ONCE) {
      const startedMs = performance.now();
      const batch = customers
        .concat(customers)
        .slice(from % customers.length, (from % customers.length) + SETTLED_AT_ONCE)
        .map((customer) => settlementOf(customer, { leaseId: leases.get(customer.accountId) ?? null }));
      await settle(database, batch);
      count += batch.length;
      await sleep(Math.max(0, SETTLE_EVERY_MS - (performance.now() - startedMs)));
    }
  }

  const leases = await Promise.all(Array.from({ length: processes }, lease));
  const done = Promise.all(leases.map(settleInTurn));
  return {
    get count() {
      return count;
    },
    async stop() {
      stopping.abort();
      await done;
    },
  };
}

interface Follower {
  /** Accounts that were delivered. */
  readonly rows: number;
  stop(): Promise<void>;
}

async function follow(): Promise<Follower> {
  const own = createDatabase({ url: server.url, applicationName: "bench-feed", maxConnections: 1 });
  const world = createWorld({ lastHeardMs: () => null });
  let rows = 0;
  const feed = startFeed({
    database: own,
    onReload: world.reload,
    onChange(change) {
      rows += change.accounts.length;
      world.apply(change);
    },
  });
  await feed.ready;
  return {
    get rows() {
      return rows;
    },
    async stop() {
      await feed.stop();
      await own.close();
    },
  };
}

const percent = (part: number) => `${(part * 100).toFixed(1)}%`;

try {
  await migrate(database);
  const customers = await createCustomers(database, ACCOUNTS, CREDIT_NANO_USD);
  await database.execute("ANALYZE");
  const table: string[][] = [];
  for (const processes of PROCESSES) {
    const settling = await startSettling(customers, processes);
    const { count } = settling;
    const alone = await measure();
    const perSecond = ((settling.count - count) * 1000) / MEASURED_MS;
    const followers = await Promise.all(Array.from({ length: processes }, follow));
    const sum = () => followers.reduce((rows, follower) => rows + follower.rows, 0);
    const before = sum();
    const followed = await measure();
    const rows = (sum() - before) / processes / (MEASURED_MS / 1000);
    await settling.stop();
    for (const follower of followers) await follower.stop();
    table.push([
      String(processes),
      perSecond.toFixed(0),
      percent(alone.postgres),
      percent(followed.postgres - alone.postgres),
      percent((followed.own - alone.own) / processes),
      rows.toFixed(0),
    ]);
  }
  const titles = ["processes", "settlements/s", "Postgres settling", "Postgres for the feeds", "a process's feed", "its rows/s"];
  process.stdout.write(`${markdownTable(titles, table)}\n`);
} finally {
  await database.close();
  await server.stop();
  await rm(dataDirectory, { recursive: true, force: true });
}
