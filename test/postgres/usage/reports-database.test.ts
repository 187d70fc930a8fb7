import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { createDatabase, type Database } from "../../../ledger/postgres/database.ts";
import { createReports } from "../../../ledger/postgres/reports-database.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { startPostgres, type Postgres } from "../../../local/postgres.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { copyPostgresTemplate, MIGRATED, urlOf } from "../../support/billing/postgres-template.ts";

/** A primary and a streaming replica of it. */
let directory = "";
let primary: Postgres;
let replica: Postgres;
const replicaDirectory = () => path.join(directory, "replica");

beforeAll(async () => {
  directory = await mkdtemp(path.join(tmpdir(), "model-gateway-replica-"));
  const primaryDirectory = path.join(directory, "primary");
  await copyPostgresTemplate(primaryDirectory);
  await copyPostgresTemplate(replicaDirectory());
  primary = await startPostgres({ dataDirectory: primaryDirectory });
  const cluster = path.join(replicaDirectory(), "cluster");
  await appendFile(path.join(cluster, "postgresql.conf"), `primary_conninfo = '${primary.url}'\n`);
  await writeFile(path.join(cluster, "standby.signal"), "");
  replica = await startPostgres({ dataDirectory: replicaDirectory() });
});

afterAll(async () => {
  await replica.stop();
  await primary.stop();
  await rm(directory, { recursive: true, force: true });
});

function connect(server: Postgres): Database {
  const database = createDatabase({ url: urlOf(server.url, MIGRATED), applicationName: "test" });
  onTestFinished(() => database.close());
  return database;
}

async function open(email: string) {
  const database = connect(primary);
  const standby = connect(replica);
  const { log, lines } = captureLog();
  let nowMs = 0;
  const reports = createReports({ primary: database, replica: standby, log, clock: { nowMs: () => nowMs } });
  const dashboard = await openDashboard(database, { reports });
  const owner = await dashboard.owner(email);
  const { accountId } = owner;
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const { publicId: keyId } = await createApiKey(database, { accountId, name: "laptop", pepper: PEPPER });
  const control = (action: "pause" | "resume") =>
    standby.query({ text: `SELECT pg_wal_replay_${action}()::text AS done`, row: z.object({ done: z.string() }) });
  return {
    ...dashboard,
    database,
    owner,
    messages: () => lines.map((line) => z.object({ msg: z.string() }).parse(JSON.parse(line)).msg),
    wait: (ms: number) => (nowMs += ms),
    use: async () => {
      const settlement = settlementOf({ accountId, keyId });
      await settle(database, [settlement]);
      return settlement.requestId;
    },
    listed: async () => {
      const { statusCode, body } = await owner.get("/dashboard/usage/requests");
      expect(statusCode).toBe(200);
      return [...body.matchAll(/requests\/([0-9a-f-]{36})"/g)].map(([, id = ""]) => id);
    },
    pause: () => control("pause"),
    resume: () => control("resume"),
  };
}

test("reports are as old as the replica; a request's own page and the balance are not", async () => {
  const { owner, use, listed, pause, resume } = await open("lag@example.com");
  const first = await use();
  await eventually(async () => expect(await listed()).toEqual([first]));
  await pause();
  const second = await use();
  expect(await listed()).toEqual([first]);
  expect((await owner.get(`/dashboard/usage/requests/${second}`)).statusCode).toBe(200);
  await resume();
  await eventually(async () => expect(await listed()).toEqual([second, first]));
});

test("every report can be read on a read-only database", async () => {
  const { owner, program, database, use, listed } = await open("all@example.com");
  const { accountId, personId } = owner;
  const id = await use();
  await eventually(async () => expect(await listed()).toEqual([id]));
  const pages = [
    "",
    ...["", "?by=key", "?by=member", "?range=today", "/performance", "/requests"].map((page) => `/usage${page}`),
    ...["days", "models", "keys", "members", "requests"].flatMap((view) => [`/usage/csv/${view}`, `/usage/json/${view}`]),
  ];
  for (const page of pages) expect((await owner.get(`/dashboard${page}`)).statusCode, page).toBe(200);
  await database.execute("UPDATE person SET is_admin = true WHERE id = $1", [personId]);
  expect((await owner.get("/dashboard/admin/figures")).statusCode).toBe(200);
  const api = await program(accountId, personId, "owner");
  for (const report of ["", "/keys", "/members", "/totals", "/requests"])
    expect((await api.get(`/api/v1/usage${report}`)).statusCode, report).toBe(200);
});

test("while the replica is down reports come from the primary, and from the replica once it is back", async () => {
  const { use, listed, messages, wait, pause, resume } = await open("away@example.com");
  const first = await use();
  await eventually(async () => expect(await listed()).toEqual([first]));
  await replica.stop();
  const second = await use();
  expect(await listed()).toEqual([second, first]);
  expect(messages()).toEqual(["the database for reports failed: reports are read from the primary"]);

  replica = await startPostgres({ dataDirectory: replicaDirectory(), port: replica.port });
  await pause();
  wait(10_000);
  const third = await use();
  await eventually(async () => {
    const ids = await listed();
    if (ids.includes(third)) wait(10_000);
    expect(ids).not.toContain(third);
  });
  expect(messages()).toContain("reports are read from the database for reports again");
  await resume();
  await eventually(async () => expect(await listed()).toEqual([third, second, first]));
});
