import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { parseArgs } from "node:util";
import * as z from "zod";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { startPostgres } from "../../../local/postgres.ts";
import type { Measured } from "./reader.ts";

/**
 * `npm run bench:world`: how long a start of extproc takes until it knows every key, and how many bytes it keeps for each,
 * beside an object for each row as the baseline. Deleted keys are there, too.
 */
const { values } = parseArgs({
  options: {
    keys: { type: "string", default: "1000000" },
    accounts: { type: "string", default: "100000" },
    deleted: { type: "string", default: "500000" },
  },
});
const [keys, accounts, deleted] = [Number(values.keys), Number(values.accounts), Number(values.deleted)];
const measuredSchema: z.ZodType<Measured> = z.object({
  readyMs: z.number(),
  cpuMs: z.number(),
  keys: z.number(),
  bytes: z.number(),
  peakRssMiB: z.number(),
  hotLookupNs: z.number(),
  coldLookupNs: z.number(),
});

const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-bench-world-"));
const server = await startPostgres({ dataDirectory: path.join(directory, "postgres") });
try {
  await seed(server.url);
  const world = await measure("world", server.url);
  const objects = await measure("objects", server.url);
  console.log(`${keys} keys of ${accounts} accounts, and ${deleted} deleted ones`);
  console.table({ "extproc's world": show(world), "baseline: an object a row": show(objects) });
  const ratio = (read: (measured: Measured) => number) => (read(world) / read(objects)).toFixed(2);
  console.log(
    `world / baseline: ready ${ratio(({ readyMs }) => readyMs)}, CPU ${ratio(({ cpuMs }) => cpuMs)}, bytes a key ${ratio(bytesAKey)}`,
  );
} finally {
  await server.stop();
  await rm(directory, { recursive: true, force: true });
}

async function seed(url: string): Promise<void> {
  const database = createDatabase({ url, applicationName: "seed", statementTimeoutMs: 600_000 });
  await migrate(database);
  await database.transaction(async (transaction) => {
    // Without triggers: a million notices are not what is measured.
    await transaction.execute("SET LOCAL session_replication_role = replica");
    await transaction.execute(
      "INSERT INTO account (id, name) SELECT 'account-' || number, 'Account' FROM generate_series(0, $1::int - 1) AS number",
      [accounts],
    );
    await transaction.execute("INSERT INTO account_balance (account_id, posted_nano_usd) SELECT id, 5000000000 FROM account");
    await transaction.execute(
      `INSERT INTO api_key (public_id, account_id, name, secret_hash, revoked_at, limits)
       SELECT lpad(number::text, 12, '0'), 'account-' || number % $2::int, 'key ' || number, sha256(number::text::bytea),
         CASE WHEN number >= $1::int THEN now() END,
         CASE WHEN number % 10 = 0 THEN '{"requestsPerMinute": 60}'::jsonb ELSE '{}' END
       FROM generate_series(0, $1::int + $3::int - 1) AS number`,
      [keys, accounts, deleted],
    );
  });
  await database.execute("VACUUM ANALYZE");
  await database.close();
}

async function measure(method: "world" | "objects", url: string): Promise<Measured> {
  const child = fork(path.join(import.meta.dirname, "reader.ts"), [], {
    execArgv: ["--expose-gc", "--max-semi-space-size=16", "--max-old-space-size=8192"],
    env: { ...process.env, DATABASE_URL: url, METHOD: method },
  });
  const [message] = await Promise.race([
    once(child, "message"),
    once(child, "exit").then(() => Promise.reject(new Error(`The process that loads ${method} ended early.`))),
  ]);
  await once(child, "exit");
  return measuredSchema.parse(message);
}

function bytesAKey({ bytes, keys: loaded }: Measured): number {
  return bytes / loaded;
}

function show(measured: Measured): Record<string, string> {
  return {
    "ready after": `${(measured.readyMs / 1000).toFixed(1)} s`,
    "CPU until then": `${(measured.cpuMs / 1000).toFixed(1)} s`,
    "bytes a key": bytesAKey(measured).toFixed(0),
    "peak RSS": `${measured.peakRssMiB.toFixed(0)} MiB`,
    "lookup, key in use": `${measured.hotLookupNs.toFixed(0)} ns`,
    "lookup, any key": `${measured.coldLookupNs.toFixed(0)} ns`,
  };
}
