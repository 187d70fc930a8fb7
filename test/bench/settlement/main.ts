import { benchSettlement } from "./settlement.ts";

/** `npm run bench:settlement`: settlements a second into a fresh PostgreSQL on this machine, which shares its cores. */
const SETTLEMENTS = 100_000;

const table: Record<string, Record<string, string>> = {};
for (const accounts of [1, 1_000]) {
  const { perSecond, lagMs, heapMiB } = await benchSettlement({ accounts, settlements: SETTLEMENTS });
  table[`${accounts} ${accounts === 1 ? "account" : "accounts"}`] = {
    "settlements/s": perSecond.toFixed(0),
    "lag at the end": `${lagMs.toFixed(0)} ms`,
    heap: `${heapMiB.toFixed(0)} MiB`,
  };
}
console.table(table);
