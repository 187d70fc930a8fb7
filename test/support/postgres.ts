import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, onTestFinished } from "vitest";
import { startPostgres, type Postgres } from "../../local/postgres.ts";
import { createDatabase, type Database } from "../../ledger/database.ts";
import { migrate } from "../../ledger/migrate.ts";
import type { Logger } from "../../runtime/log.ts";

export interface TestPostgres {
  /** A fresh database with the ledger's schema and a pool on it, for one test. */
  migrated(): Promise<TestDatabase>;
  /** A fresh database with nothing in it. */
  empty(): Promise<TestDatabase>;
  /** Stops the server; its data stays. */
  stop(): Promise<void>;
  /** Starts it again where it was. */
  start(): Promise<void>;
}

interface TestDatabase {
  database: Database;
  /** Holds the test server's password. */
  url: string;
  /** Another pool on the same database; closed with the test. */
  connect(applicationName: string, log?: Logger): Database;
}

/** One real PostgreSQL for the test file that calls this at its top. */
export function usePostgres(): TestPostgres {
  let dataDirectory = "";
  let server: Postgres | undefined;
  let made = 0;

  function running(): Postgres {
    if (server === undefined) throw new Error("PostgreSQL is not running: ask for a database inside a test.");
    return server;
  }

  async function administer(work: (administrator: Database) => Promise<unknown>): Promise<void> {
    const administrator = createDatabase({
      url: running().url,
      applicationName: "test administrator",
      statementTimeoutMs: 60_000,
    });
    try {
      await work(administrator);
    } finally {
      await administrator.close();
    }
  }

  async function make(template: string): Promise<TestDatabase> {
    const name = `test_${++made}`;
    await administer((administrator) => administrator.execute(`CREATE DATABASE ${name} TEMPLATE ${template}`));
    const url = urlOf(running(), name);
    const connect = (applicationName: string, log?: Logger) => {
      const database = createDatabase({ url, applicationName, ...(log === undefined ? {} : { log }) });
      onTestFinished(() => database.close());
      return database;
    };
    return { url, connect, database: connect("test") };
  }

  beforeAll(async () => {
    dataDirectory = await mkdtemp(path.join(tmpdir(), "model-gateway-postgres-"));
    server = await startPostgres({ dataDirectory });
    await administer((administrator) => administrator.execute("CREATE DATABASE migrated"));
    const template = createDatabase({ url: urlOf(server, "migrated"), applicationName: "test template" });
    await migrate(template);
    await template.close();
  });

  afterAll(async () => {
    await server?.stop();
    await rm(dataDirectory, { recursive: true, force: true });
  });

  return {
    migrated: () => make("migrated"),
    empty: () => make("template0"),
    stop: () => running().stop(),
    async start() {
      server = await startPostgres({ dataDirectory, port: running().port });
    },
  };
}

function urlOf({ url }: Postgres, database: string): string {
  const changed = new URL(url);
  changed.pathname = `/${database}`;
  return changed.href;
}
