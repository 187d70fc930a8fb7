import { randomBytes } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, inject, onTestFinished } from "vitest";
import { startPostgres, type Postgres } from "../../../local/postgres.ts";
import { createDatabase, type Database, type DatabaseOptions } from "../../../ledger/postgres/database.ts";
import { copyPostgresTemplate, MIGRATED, urlOf } from "./postgres-template.ts";

export interface TestPostgres {
  /** A fresh database with the ledger's schema and a pool on it, for one test. */
  migrated(): Promise<TestDatabase>;
  /** A fresh database with nothing in it. */
  empty(): Promise<TestDatabase>;
}

export interface OwnTestPostgres extends TestPostgres {
  /** Stops the server; its data stays. */
  stop(): Promise<void>;
  /** Restarts it on the same data and port; as a standby, it only reads until it is promoted. */
  start(options?: { isStandby?: boolean }): Promise<void>;
}

export interface TestDatabase {
  database: Database;
  /** Contains the test server's password. */
  url: string;
  /** Another pool on the same database; closed with the test. */
  connect(applicationName: string, options?: Pick<DatabaseOptions, "log" | "statementTimeoutMs">): Database;
}

/** Databases on the PostgreSQL that all files of the project `postgres` share. */
export function usePostgres(): TestPostgres {
  return useDatabases(() => inject("postgresUrl"), { dropEach: true });
}

/**
 * One real PostgreSQL for the test file that calls this at its top: for those that stop it, cut connections, or count on
 * nobody else's transactions, which hold back what a reader of changes has seen.
 */
export function useOwnPostgres(): OwnTestPostgres {
  let directory = "";
  const dataDirectory = () => path.join(directory, "postgres");
  let server: Postgres | undefined;

  function running(): Postgres {
    if (server === undefined) throw new Error("PostgreSQL is not running: ask for a database inside a test.");
    return server;
  }

  beforeAll(async () => {
    directory = await mkdtemp(path.join(tmpdir(), "model-gateway-postgres-"));
    await copyPostgresTemplate(dataDirectory());
    server = await startPostgres({ dataDirectory: dataDirectory() });
  });

  afterAll(async () => {
    await server?.stop();
    await rm(directory, { recursive: true, force: true });
  });

  return {
    // Its server may have been stopped, which also removed its directory.
    ...useDatabases(() => running().url, { dropEach: false }),
    stop: () => running().stop(),
    async start({ isStandby = false } = {}) {
      if (isStandby) await writeFile(path.join(dataDirectory(), "cluster/standby.signal"), "");
      server = await startPostgres({ dataDirectory: dataDirectory(), port: running().port });
    },
  };
}

/** @param dropEach drops each database after its test: a server that runs for long would fill the disk with them. */
function useDatabases(serverUrl: () => string, { dropEach }: { dropEach: boolean }): TestPostgres {
  const file = randomBytes(4).toString("hex");
  let made = 0;

  let administrator: Database | undefined;
  afterAll(() => administrator?.close());

  async function administer(statement: string): Promise<void> {
    administrator ??= createDatabase({ url: serverUrl(), applicationName: "test administrator", statementTimeoutMs: 60_000 });
    await administrator.execute(statement);
  }

  async function make(template: string): Promise<TestDatabase> {
    const name = `test_${file}_${++made}`;
    // Without fsync, copying the files takes half of the time of writing them into the log.
    await administer(`CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY file_copy`);
    // Handlers run in reverse order: this one after those that close connections.
    if (dropEach) onTestFinished(() => administer(`DROP DATABASE ${name} WITH (FORCE)`));
    const url = urlOf(serverUrl(), name);
    const connect: TestDatabase["connect"] = (applicationName, options) => {
      const database = createDatabase({ url, applicationName, ...options });
      onTestFinished(() => database.close());
      return database;
    };
    return { url, connect, database: connect("test") };
  }

  return { migrated: () => make(MIGRATED), empty: () => make("template0") };
}
