import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { createSettler } from "../../../ledger/settlement/settler.ts";
import { startPostgres } from "../../../local/postgres.ts";
import { createCustomers } from "../customers.ts";
import { readUse } from "../processes.ts";
import { settlementOf, type Customer } from "../../support/billing/ledger.ts";

export interface SettlementBench {
  /** How many accounts share the load evenly. */
  accounts: number;
  settlements: number;
}

export interface SettlementBenchResult {
  perSecond: number;
  /** From the moment a settlement was added to its commit: the longest of the run. */
  lagMs: number;
  heapMiB: number;
  /** Of one settlement, microseconds: here, and in Postgres. It tells runs on a busy machine apart better than the rate. */
  ownCpuMicros: number;
  postgresCpuMicros: number;
}

/** Settlements through the real settler into a real PostgreSQL on this machine, kept `AHEAD` in front of it. */
export async function benchSettlement({ accounts, settlements }: SettlementBench): Promise<SettlementBenchResult> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), "gateway-bench-"));
  const server = await startPostgres({ dataDirectory });
  const database = createDatabase({ url: server.url, applicationName: "bench", maxConnections: 4 });
  try {
    await migrate(database);
    const customers = await createCustomers(database, accounts);
    return await run({ database, customers, settlements, postgresPid: server.pid });
  } finally {
    await database.close();
    await server.stop();
    await rm(dataDirectory, { recursive: true, force: true });
  }
}

const AHEAD = 15_000;

interface Run {
  database: ReturnType<typeof createDatabase>;
  customers: readonly Customer[];
  settlements: number;
  postgresPid: number;
}

async function run({ database, customers, settlements, postgresPid }: Run): Promise<SettlementBenchResult> {
  const settler = createSettler({ database, onSettled: refill, onFailed: ({ error }) => stopped.reject(error) });
  const stopped = Promise.withResolvers<void>();
  const addedAt = new Map<Settlement, number>();
  let added = 0;
  let landed = 0;
  let lagMs = 0;

  function refill({ settled }: { settled: number }, batch: readonly Settlement[]): void {
    landed += settled;
    const nowMs = performance.now();
    for (const settlement of batch) {
      lagMs = Math.max(lagMs, nowMs - (addedAt.get(settlement) ?? nowMs));
      addedAt.delete(settlement);
    }
    fill();
    if (landed === settlements) stopped.resolve();
  }

  function fill(): void {
    while (added < settlements && added - landed < AHEAD) {
      const customer = customers[added % customers.length];
      if (customer === undefined) throw new Error("A bench needs an account.");
      const settlement = settlementOf(customer);
      addedAt.set(settlement, performance.now());
      settler.add(settlement);
      added++;
    }
  }

  const cpuBefore = { own: process.cpuUsage(), postgresMs: (await readUse([postgresPid])).cpuMs };
  const startedMs = performance.now();
  fill();
  await stopped.promise;
  const seconds = (performance.now() - startedMs) / 1000;
  const own = process.cpuUsage(cpuBefore.own);
  return {
    perSecond: settlements / seconds,
    lagMs,
    heapMiB: process.memoryUsage().heapUsed / 2 ** 20,
    ownCpuMicros: (own.user + own.system) / settlements,
    postgresCpuMicros: (((await readUse([postgresPid])).cpuMs - cpuBefore.postgresMs) * 1000) / settlements,
  };
}
