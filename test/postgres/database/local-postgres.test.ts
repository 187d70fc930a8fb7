import { chmod, mkdir, mkdtemp, readFile, rm, stat, writeFile } from "node:fs/promises";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { Client } from "pg";
import { afterEach, beforeEach, expect, onTestFinished, test } from "vitest";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { startPostgres, type Postgres, type PostgresOptions } from "../../../local/postgres.ts";
import { isAlive } from "../../../local/process/processes.ts";

let directory: string;
let started: Postgres[];

beforeEach(async () => {
  started = [];
  directory = await mkdtemp(path.join(tmpdir(), "gateway-postgres-"));
});
afterEach(async () => {
  // A server that runs writes new files while its directory is removed.
  await Promise.all(started.map((each) => each.stop()));
  await rm(directory, { recursive: true, force: true });
});

async function start(options: Partial<PostgresOptions> = {}): Promise<Postgres> {
  const postgres = await startPostgres({ dataDirectory: path.join(directory, "postgres"), ...options });
  started.push(postgres);
  return postgres;
}

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: url });
  client.on("error", () => {});
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

test("data outlives a stop and a start", async () => {
  const first = await start();
  await query(first.url, "CREATE TABLE kept AS SELECT 42 AS answer");
  await first.stop();
  expect(await isAlive(first.pid)).toBe(false);
  const second = await start();
  expect(await query(second.url, "SELECT answer FROM kept")).toStrictEqual([{ answer: 42 }]);
});

test("an emptied password and corrupt data end the start with one sentence and the remedy", async () => {
  const postgres = await start();
  await postgres.stop();
  const data = path.join(directory, "postgres");
  const afresh = "without the accounts, keys and credit of the old one.";
  const password = await readFile(path.join(data, "password"), "utf8");
  await writeFile(path.join(data, "password"), "");
  await expect(start()).rejects.toThrow(
    `The database password is missing from ${data}/password: restore that file from a backup, or remove ${data} to start with a new database, ${afresh}`,
  );
  await writeFile(path.join(data, "password"), password);
  await rm(path.join(data, "cluster", "PG_VERSION"));
  await expect(start()).rejects.toThrow(
    new RegExp(
      `^PostgreSQL did not start: .* is not a valid data directory. If its data cannot be repaired, remove ${data}: .* ${afresh}$`,
      "s",
    ),
  );
});

test("a session needs the password, which only its owner can read", async () => {
  const { url } = await start();
  const wrong = new URL(url);
  wrong.password = "wrong";
  await expect(query(wrong.href, "SELECT 1")).rejects.toThrow("password authentication failed");
  expect((await stat(path.join(directory, "postgres", "password"))).mode & 0o777).toBe(0o600);
});

test("it listens only on the loopback address, verifies its pages, and sorts the same on every machine", async () => {
  const { url } = await start();
  const settings =
    "SELECT name, setting FROM pg_settings WHERE name IN ('listen_addresses', 'unix_socket_directories', 'data_checksums') ORDER BY 1";
  expect(await query(url, settings)).toStrictEqual([
    { name: "data_checksums", setting: "on" },
    { name: "listen_addresses", setting: LOOPBACK },
    { name: "unix_socket_directories", setting: "" },
  ]);
  expect(
    await query(
      url,
      "SELECT datlocprovider, datlocale, pg_encoding_to_char(encoding) AS encoding FROM pg_database WHERE datname = 'postgres'",
    ),
  ).toStrictEqual([{ datlocprovider: "b", datlocale: "C.UTF-8", encoding: "UTF8" }]);
});

test("a directory that others may not enter does not prevent the start", async () => {
  const closed = path.join(directory, "closed");
  await mkdir(closed, { mode: 0o700 });
  await chmod(directory, 0o700);
  const { url } = await start({ dataDirectory: path.join(closed, "postgres") });
  expect(await query(url, "SELECT 1 AS one")).toStrictEqual([{ one: 1 }]);
});

test("a server left over on the directory is stopped, and its committed data is kept", async () => {
  const leftover = await start();
  await query(leftover.url, "CREATE TABLE kept AS SELECT 42 AS answer");
  const next = await start();
  expect(await isAlive(leftover.pid)).toBe(false);
  expect(await query(next.url, "SELECT answer FROM kept")).toStrictEqual([{ answer: 42 }]);
});

test("a killed server recovers", async () => {
  const killed = await start();
  await query(killed.url, "CREATE TABLE kept AS SELECT 42 AS answer");
  process.kill(killed.pid, "SIGKILL");
  await killed.ended;
  expect(await readFile(path.join(directory, "postgres", "cluster", "postmaster.pid"), "utf8")).toContain(String(killed.pid));
  const next = await start();
  expect(await query(next.url, "SELECT answer FROM kept")).toStrictEqual([{ answer: 42 }]);
});

test("a cluster that was being created when the start was killed is created again", async () => {
  await mkdir(path.join(directory, "postgres", "cluster.unfinished", "base"), { recursive: true });
  const { url } = await start();
  expect(await query(url, "SELECT 1 AS one")).toStrictEqual([{ one: 1 }]);
});

test("a port in use is reported in one sentence", async () => {
  const server = createServer();
  const { promise: listening, resolve } = Promise.withResolvers<void>();
  server.listen(0, LOOPBACK, resolve);
  onTestFinished(() => void server.close());
  await listening;
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  await expect(start({ port })).rejects.toThrow(`Port ${port} is in use, so PostgreSQL cannot listen on it`);
});

test("sessions are cut at a stop, which does not wait for them", async () => {
  const postgres = await start();
  const client = new Client({ connectionString: postgres.url });
  const { promise: lost, resolve } = Promise.withResolvers<void>();
  client.on("error", () => resolve());
  await client.connect();
  await postgres.stop();
  await lost;
});
