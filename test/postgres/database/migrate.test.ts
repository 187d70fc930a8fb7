import { cp, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { migrate } from "../../../ledger/postgres/migrate.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const MIGRATIONS = new URL("../../../ledger/migrations/", import.meta.url);

test("the second run applies nothing", async () => {
  const { database } = await postgres.empty();
  expect((await migrate(database))[0]).toBe("0001-changes.sql");
  expect(await migrate(database)).toEqual([]);
});

test("four concurrent migrations apply each step once", async () => {
  const { database, connect } = await postgres.empty();
  const applied = await Promise.all([1, 2, 3, 4].map((number) => migrate(connect(`process ${number}`))));
  const names = await database.query({
    text: "SELECT name FROM schema_migration ORDER BY name",
    row: z.strictObject({ name: z.string() }),
  });
  expect(applied.flat().sort()).toEqual(names.map(({ name }) => name));
});

test("a migration changed after it was applied is rejected by name", async () => {
  const { database } = await postgres.empty();
  const folder = await copyOfMigrations();
  await migrate(database, { folder });
  await writeFile(new URL("0002-accounts-and-keys.sql", folder), "SELECT 1");
  await expect(migrate(database, { folder })).rejects.toThrow("0002-accounts-and-keys.sql was changed after it was applied");
});

test("databases created while three migrations had other comments are accepted", async () => {
  const { database } = await postgres.empty();
  await migrate(database);
  const others = {
    "0010-price-schedule.sql": "9350aa11562feb1374cc2ceee94ddb50c18c33e0be7afce376909f64b239f46a",
    "0012-payments.sql": "6105d71741bf116ce2c9ec3adaa4c55f9748a2243676fc2e6418cee72bd7a233",
    "0016-operator-replicas.sql": "1490491764108611119eff7204f18073c5ebe239267d6253ff5840931752d90c",
  };
  for (const [name, checksum] of Object.entries(others))
    expect(await database.execute("UPDATE schema_migration SET checksum = $2 WHERE name = $1", [name, checksum])).toBe(1);
  expect(await migrate(database)).toEqual([]);
});

test("a failed migration changes nothing and is named", async () => {
  const { database } = await postgres.empty();
  const folder = await copyOfMigrations();
  await writeFile(new URL("9998-broken.sql", folder), "CREATE TABLE half_done (id integer); SELECT no_such_column;");
  await expect(migrate(database, { folder })).rejects.toThrow("9998-broken.sql failed");
  await expect(database.execute("SELECT FROM half_done")).rejects.toThrow("does not exist");
});

test("a migration that is out of order is rejected by name", async () => {
  const { database } = await postgres.empty();
  const folder = await copyOfMigrations();
  await migrate(database, { folder });
  await writeFile(new URL("0000-late.sql", folder), "SELECT 1");
  await expect(migrate(database, { folder })).rejects.toThrow("0000-late.sql comes before");
});

test("a schema migrated by a newer program is accepted", async () => {
  const { database } = await postgres.empty();
  const folder = await copyOfMigrations();
  await writeFile(new URL("9999-newer.sql", folder), "CREATE TABLE newer (id integer)");
  await migrate(database, { folder });
  expect(await migrate(database)).toEqual([]);
});

async function copyOfMigrations(): Promise<URL> {
  const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-migrations-"));
  onTestFinished(() => rm(directory, { recursive: true }));
  await cp(MIGRATIONS, directory, { recursive: true });
  return pathToFileURL(`${directory}/`);
}
