import { Pool, type PoolClient } from "pg";
import * as z from "zod";
import { createLog, type Logger } from "../../runtime/log.ts";
import { createOutage } from "../../runtime/outage.ts";
import { columnTypes } from "./column-types.ts";
import { listen, type ListenOptions } from "./listener.ts";
import { isSerializationFailure } from "./postgres-error.ts";
import { backOffMs } from "../../runtime/wait.ts";

/** One statement and how its rows are read: no data from the database enters the code unchecked. */
interface Query<Row> {
  /**
   * Each connection then parses and plans it once, which costs more than running most statements. Equal names have equal texts.
   */
  name?: string;
  text: string;
  values?: readonly unknown[];
  row: z.ZodType<Row>;
}

/** For statements that only read: it may be a replica. */
export interface Reader {
  query<Row>(query: Query<Row>): Promise<Row[]>;
}

export interface Queryable extends Reader {
  /** @param name as in a query. @returns how many rows it wrote. */
  execute(text: string, values?: readonly unknown[], name?: string): Promise<number>;
}

interface TransactionOptions {
  isolation?: "read committed" | "repeatable read";
  isReadOnly?: boolean;
  /** For each statement; the database's own limit if absent. */
  statementTimeoutMs?: number;
}

export interface Database extends Queryable {
  /** Commits everything that `work` did, or nothing. `work` runs again after a deadlock: it must not have effects outside. */
  transaction<Result>(work: (transaction: Queryable) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  /** Receives notices until the signal aborts, across any number of lost connections. */
  listen(options: ListenOptions): Promise<void>;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  /** Contains the password: it appears in no log and no error. */
  url: string;
  /** Shown in pg_stat_activity. */
  applicationName: string;
  maxConnections?: number;
  statementTimeoutMs?: number;
  log?: Logger;
}

const CONNECT_WITHIN_MS = 5_000;
/** The server cancels first; this much later the client stops waiting, in case the server is unreachable. */
const CANCEL_GRACE_MS = 3_000;
const ROLLBACK_WITHIN_MS = 2_000;
const IDLE_IN_TRANSACTION_MS = 30_000;
/** A new connection costs Postgres 30 ms: its process, its caches and each named statement. */
const CLOSE_IDLE_AFTER_MS = 120_000;
const MAX_ATTEMPTS = 6;
const RETRY = { firstMs: 10, maxMs: 500 } as const;

/** A pool of connections to one Postgres. It connects on first use; a lost connection never ends the process. */
export function createDatabase({
  url,
  applicationName,
  maxConnections = 10,
  statementTimeoutMs = 10_000,
  log = createLog({ process: applicationName, level: "silent" }),
}: DatabaseOptions): Database {
  const connection = {
    connectionString: url,
    application_name: applicationName,
    connectionTimeoutMillis: CONNECT_WITHIN_MS,
    statement_timeout: statementTimeoutMs,
    query_timeout: statementTimeoutMs + CANCEL_GRACE_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    keepAlive: true,
    types: columnTypes(),
  };
  const closing = new AbortController();
  let closed: Promise<void> | undefined;
  const pool = new Pool({ ...connection, max: maxConnections, idleTimeoutMillis: CLOSE_IDLE_AFTER_MS });
  // They are all lost at once when Postgres stops.
  const outage = createOutage({ log, failing: "an idle database connection was lost", over: "the database is connected again" });
  pool.on("error", (error) => outage.failed(error));
  pool.on("connect", () => outage.over());
  // Without a listener, losing a connection between two statements of a transaction would end the process; the transaction's next
  // statement reports the loss to its caller.
  pool.on("connect", (client) => client.on("error", () => {}));

  async function attempt<Result>(
    work: (transaction: Queryable) => Promise<Result>,
    { isolation = "read committed", isReadOnly = false, statementTimeoutMs: ownTimeoutMs }: TransactionOptions,
  ): Promise<Result> {
    const client = await pool.connect();
    try {
      // Not READ WRITE: a standby refuses it as unsupported, and a database that its administrator lets only read would be written to.
      await client.query(`BEGIN ISOLATION LEVEL ${isolation}${isReadOnly ? " READ ONLY" : ""}`);
      if (ownTimeoutMs !== undefined) await client.query(`SET LOCAL statement_timeout = ${ownTimeoutMs}`);
      const result = await work(onConnection(client, ownTimeoutMs));
      const end = await client.query("COMMIT");
      // Postgres answers COMMIT with ROLLBACK if `work` swallowed the error of a statement.
      if (end.command !== "COMMIT") throw new Error("The transaction was rolled back: one of its statements had failed.");
      client.release();
      return result;
    } catch (error) {
      client.release(await cannotRollBack(client));
      throw error;
    }
  }

  return {
    ...onConnection(pool),
    async transaction(work, options = {}) {
      for (let attempts = 1; ; attempts++) {
        try {
          return await attempt(work, options);
        } catch (error) {
          if (!isSerializationFailure(error) || attempts === MAX_ATTEMPTS) throw error;
          log.info({ err: error, attempts }, "retrying a transaction");
          await new Promise((resolve) => setTimeout(resolve, backOffMs(RETRY, attempts, Math.random())));
        }
      }
    },
    listen: (options) =>
      listen(
        { ...connection, application_name: `${applicationName} listen` },
        { ...options, signal: AbortSignal.any([options.signal, closing.signal]), log },
      ),
    close() {
      closing.abort();
      return (closed ??= pool.end());
    },
  };
}

function onConnection(connection: Pool | PoolClient, statementTimeoutMs?: number): Queryable {
  async function run(text: string, values: readonly unknown[] | undefined, name?: string) {
    const config = {
      text,
      ...(name === undefined ? {} : { name }),
      ...(values === undefined ? {} : { values: [...values] }),
      ...(statementTimeoutMs === undefined ? {} : { query_timeout: statementTimeoutMs + CANCEL_GRACE_MS }),
    };
    return connection.query(config);
  }
  return {
    async query({ name, text, values, row }) {
      const { rows } = await run(text, values, name);
      return z.array(row).parse(rows);
    },
    async execute(text, values, name) {
      const { rowCount } = await run(text, values, name);
      return rowCount ?? 0;
    },
  };
}

/** @returns whether the connection is in an unknown state and must not be used again. */
async function cannotRollBack(client: PoolClient): Promise<boolean> {
  const rollback = { text: "ROLLBACK", query_timeout: ROLLBACK_WITHIN_MS };
  return client.query(rollback).then(
    () => false,
    () => true,
  );
}
