import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { COMPILE_CACHE } from "../../support/test-run/compile-cache.ts";
import { eventually } from "../../support/eventually.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";
import { makeCertificates } from "../../support/servers/tls-certificates.ts";

/** PGSSLROOTCERT, which the chart sets from database.tls.caSecret, with a PostgreSQL that speaks TLS. */
const postgres = useOwnPostgres();
const MIGRATE = path.join(import.meta.dirname, "../../../ledger/migrate-command/main.ts");
let directory = "";
const file = (name: string) => path.join(directory, name);

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "gateway-database-authority-"));
  await writeFile(file("wrong.crt"), (await makeCertificates("localhost")).ca);
});
afterAll(() => rm(directory, { recursive: true, force: true }));

const settingSchema = z.strictObject({ setting: z.string() });

/** The server writes its own key: it refuses one that another user owns, or that others may read. */
async function switchTlsOn(database: Database): Promise<void> {
  const { ca, certificate, key } = await makeCertificates("localhost", "127.0.0.1");
  await writeFile(file("right.crt"), ca);
  const [data] = await database.query({ text: "SELECT current_setting('data_directory') AS setting", row: settingSchema });
  for (const [name, text] of [
    ["server.crt", certificate],
    ["server.key", key],
  ] as const) {
    const lines = text.trim().split("\n");
    const program = `umask 077 && cat >"${data?.setting}/${name}"`;
    await database.execute(`COPY (VALUES ${lines.map((line) => `('${line}')`).join(", ")}) TO PROGRAM '${program}'`);
  }
  await database.execute("ALTER SYSTEM SET ssl = on");
  await database.execute("SELECT pg_reload_conf()");
}

async function migrate(url: string, environment: Readonly<Record<string, string>>): Promise<string> {
  const env = { ...COMPILE_CACHE, PATH: process.env["PATH"], DATABASE_URL: url, ...environment };
  const { stdout } = await promisify(execFile)(process.execPath, [MIGRATE], { env, timeout: 60_000 });
  return stdout;
}

test("the server's certificate must come from the named authority, and from no other", async () => {
  const { url, database } = await postgres.empty();
  await switchTlsOn(database);
  const isEncrypted = { text: "SELECT ssl::text AS setting FROM pg_stat_ssl WHERE pid = pg_backend_pid()", row: settingSchema };
  const trusting = `${url}?sslrootcert=${encodeURIComponent(file("right.crt"))}`;
  await eventually(
    async () => {
      const connected = createDatabase({ url: trusting, applicationName: "test" });
      try {
        expect(await connected.query(isEncrypted)).toEqual([{ setting: "true" }]);
      } finally {
        await connected.close();
      }
    },
    { withinMs: 30_000 },
  );
  expect(await migrate(url, { PGSSLROOTCERT: file("right.crt") })).toContain("The schema is up to date");
  expect(await migrate(url, { PGSSLMODE: "verify-full", PGSSLROOTCERT: file("right.crt") })).toContain("up to date");
  await expect(migrate(url, { PGSSLMODE: "verify-full" })).rejects.toThrow(/certificate/);
  await expect(migrate(url, { PGSSLROOTCERT: file("wrong.crt") })).rejects.toThrow(/certificate/);
  // The address takes precedence over the environment.
  expect(await migrate(trusting, { PGSSLROOTCERT: file("wrong.crt") })).toContain("up to date");
  expect(await migrate(`${url}?sslmode=disable`, { PGSSLROOTCERT: file("wrong.crt") })).toContain("up to date");
});
