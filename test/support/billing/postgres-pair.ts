import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { onTestFinished } from "vitest";
import * as z from "zod";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { startPostgres, type Postgres } from "../../../local/postgres.ts";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { eventually } from "../eventually.ts";
import { startSwitchboard } from "../servers/switchboard.ts";
import type { TestDatabase } from "./postgres.ts";
import { copyPostgresTemplate, MIGRATED, urlOf } from "./postgres-template.ts";

/** A primary with a synchronous standby, behind one address: what it commits is on both. */
export interface PostgresPair extends Pick<TestDatabase, "url" | "connect"> {
  /** Commits wait from now on, as for a standby that does not answer. */
  loseStandby(): Promise<void>;
  regainStandby(): Promise<void>;
  /** The primary dies without a word. The address leads nowhere. */
  killPrimary(): Promise<void>;
  /** The address leads to the standby, which only reads. */
  leadToStandby(): void;
  promoteStandby(): Promise<void>;
}

const STANDBY = "standby";
const DATABASE = "failover";

/** For one test. */
export async function startPostgresPair(): Promise<PostgresPair> {
  const directory = await mkdtemp(path.join(tmpdir(), "gateway-pair-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  // Copies of one cluster that was shut down: the second follows the first from there.
  const [first, second] = [path.join(directory, "first"), path.join(directory, "second")];
  await Promise.all([copyPostgresTemplate(first), copyPostgresTemplate(second)]);
  const primary = await startPostgres({ dataDirectory: first });
  onTestFinished(() => primary.stop());
  await follow(second, primary);
  const standby = await startPostgres({ dataDirectory: second });
  onTestFinished(() => standby.stop());

  const administrator = administratorOf(primary);
  await requireStandby(administrator, STANDBY);
  await administrator.execute(`CREATE DATABASE ${DATABASE} TEMPLATE ${MIGRATED} STRATEGY file_copy`);
  const switchboard = await startSwitchboard(0);
  onTestFinished(() => switchboard.stop());
  switchboard.lead(primary.port);
  const url = new URL(urlOf(primary.url, DATABASE));
  url.port = String(switchboard.port);

  return {
    url: url.href,
    connect(applicationName, options) {
      const database = createDatabase({ url: url.href, applicationName, ...options });
      onTestFinished(() => database.close());
      return database;
    },
    loseStandby: () => requireStandby(administrator, "another"),
    regainStandby: () => requireStandby(administrator, STANDBY),
    async killPrimary() {
      switchboard.lead(null);
      await administrator.close();
      process.kill(primary.pid, "SIGKILL");
    },
    leadToStandby: () => switchboard.lead(standby.port),
    async promoteStandby() {
      const promoter = administratorOf(standby);
      await promoter.query({ text: "SELECT pg_promote()", row: z.unknown() });
      await requireStandby(promoter, "");
    },
  };
}

async function follow(dataDirectory: string, primary: Postgres): Promise<void> {
  const { username, password } = new URL(primary.url);
  const settings = {
    host: LOOPBACK,
    port: primary.port,
    user: username,
    password: decodeURIComponent(password),
    application_name: STANDBY,
  };
  const text = Object.entries(settings)
    .map(([name, value]) => `${name}=${value}`)
    .join(" ");
  await appendFile(path.join(dataDirectory, "cluster/postgresql.auto.conf"), `\nprimary_conninfo = '${text}'\n`);
  await writeFile(path.join(dataDirectory, "cluster/standby.signal"), "");
}

function administratorOf({ url }: Postgres): Database {
  const database = createDatabase({ url, applicationName: "test administrator", statementTimeoutMs: 60_000 });
  onTestFinished(() => database.close());
  return database;
}

/** Commits wait until the standby of this name has them; for none if it is empty. */
async function requireStandby(administrator: Database, name: string): Promise<void> {
  await administrator.execute(`ALTER SYSTEM SET synchronous_standby_names = '${name}'`);
  await administrator.query({ text: "SELECT pg_reload_conf()", row: z.unknown() });
  if (name !== STANDBY) return;
  await eventually(async () => {
    const [found] = await administrator.query({
      text: "SELECT state FROM pg_stat_replication WHERE sync_state = 'sync'",
      row: z.object({ state: z.string() }),
    });
    if (found?.state !== "streaming") throw new Error(`the standby is ${found?.state ?? "not there"}`);
  });
}
