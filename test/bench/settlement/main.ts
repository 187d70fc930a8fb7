import { benchSettlement } from "./settlement.ts";

/** `npm run bench:settlement`: settlements a second into a fresh PostgreSQL on this machine, which shares its cores. */
const SETTLEMENTS = 100_000;

const table: Record<string, Record<string, string>> = {};
for (const accounts of [1, 1_000]) {
  const { perSecond, lagMs, heapMiB, ownCpuMicros, postgresCpuMicros } = await benchSettlement({
    accounts,
    settlements: SETTLEMENTS,
  });
  table[`${accounts} ${accounts === 1 ? "account" : "accounts"}`] = {
    "settlements/s": perSecond.toFixed(0),
    "CPU, gateway": `${ownCpuMicros.toFixed(1)} µs`,
    "CPU, Postgres": `${postgresCpuMicros.toFixed(1)} µs`,
    "longest lag": `${lagMs.toFixed(0)} ms`,
    heap: `${heapMiB.toFixed(0)} MiB`,
  };
}
console.table(table);
