import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { asset } from "../../../dashboard/assets.ts";
import { createUsageReport } from "../../../extproc/answers/usage-report.ts";
import { createDatabase } from "../../../ledger/postgres/database.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { eventually } from "../../support/eventually.ts";

/** While the database cannot be used, callers are told to come again; once it can, they are served. */
const postgres = useOwnPostgres();

interface Service {
  /** A page, its form, the management API, and the files of batches. */
  ask(): Promise<{ statusCode: number; retryAfter: unknown; body: string }[]>;
  /** What the error's page needs to look like one. */
  readStyles(): Promise<{ statusCode: number }>;
  /** For `GET /v1/usage`. */
  readUsage(): Promise<unknown>;
}

async function open() {
  const { database, url } = await postgres.migrated();
  const { key, accountId, keyId } = await seedLedger(database);
  const { owner, program } = await openDashboard(database);
  const { cookie, csrf, personId, accountId: ownAccount } = await owner("ann@example.com");
  const { token } = await program(ownAccount, personId, "owner");
  const impatient = createDatabase({ url, applicationName: "impatient", statementTimeoutMs: 1_000 });
  onTestFinished(() => impatient.close());
  const { client } = await openDashboard(impatient);
  const report = createUsageReport(impatient);
  const service: Service = {
    async ask() {
      const person = client({ cookie }, csrf);
      const answers = [
        await person.get("/dashboard/limits"),
        await person.post("/dashboard/limits", { requestsPerMinute: "5" }),
        await client({ authorization: `Bearer ${token}` }).get("/api/v1/limits"),
        await client({ authorization: `Bearer ${key}` }).get("/v1/files"),
      ];
      return answers.map(({ statusCode, headers, body }) => ({ statusCode, retryAfter: headers["retry-after"], body }));
    },
    readStyles: () => client({ cookie }).get(asset("style.css")),
    readUsage: () => report.byModelAndDay({ accountId, keyId, fromDay: "2026-11-01", toDay: "2026-11-30" }),
  };
  return { database, service };
}

async function expectAway({ ask, readStyles, readUsage }: Service): Promise<void> {
  const body = expect.stringContaining("Accounts and usage are temporarily unavailable. Try again in a few seconds.");
  const away = { statusCode: 503, retryAfter: "5", body };
  expect(await ask()).toEqual([away, away, away, away]);
  expect(await readStyles()).toMatchObject({ statusCode: 200 });
  await expect(readUsage()).rejects.toMatchObject({ code: "billing_unavailable", headers: { "retry-after": "5" } });
}

async function expectThere({ ask, readUsage }: Service): Promise<void> {
  expect((await ask()).map(({ statusCode }) => statusCode)).toEqual([200, 303, 200, 200]);
  expect(await readUsage()).toEqual([]);
}

test(
  "while Postgres is stopped, pages and programs get a 503 with retry-after, and are served once it is back",
  {
    timeout: 60_000,
  },
  async () => {
    const { service } = await open();
    await expectThere(service);
    await postgres.stop();
    await expectAway(service);
    await postgres.start();
    await expectThere(service);
  },
);

test("so do those that wait for a lock until their time is over", { timeout: 60_000 }, async () => {
  const { database, service } = await open();
  await database.transaction(async (transaction) => {
    await transaction.execute("LOCK TABLE session, management_token, api_key, usage_by_day IN ACCESS EXCLUSIVE MODE");
    await expectAway(service);
  });
  await expectThere(service);
});

test(
  "a standby serves what only reads; what changes something gets a 503 with retry-after until it is promoted",
  {
    timeout: 60_000,
  },
  async () => {
    const { database, service } = await open();
    // Visits are written down once a minute.
    await database.execute("UPDATE session SET last_seen_at = now() - interval '1 hour'");
    await postgres.stop();
    await postgres.start({ isStandby: true });
    const [page, form, api, files] = await service.ask();
    expect([page?.statusCode, api?.statusCode, files?.statusCode]).toEqual([200, 200, 200]);
    expect(form).toMatchObject({ statusCode: 503, retryAfter: "5" });
    expect(await service.readUsage()).toEqual([]);
    await database.query({ text: "SELECT pg_promote() AS promoted", row: z.unknown() });
    await expectThere(service);
  },
);

test("what only reads does not wait for a standby that commits wait for, and does not answer", { timeout: 60_000 }, async () => {
  const { database, service } = await open();
  await database.execute("UPDATE session SET last_seen_at = now() - interval '1 hour'");
  const waitFor = async (standby: string) => {
    await database.execute(`ALTER SYSTEM SET synchronous_standby_names = '${standby}'`);
    await database.query({ text: "SELECT pg_reload_conf()", row: z.unknown() });
    const names = { text: "SHOW synchronous_standby_names", row: z.strictObject({ synchronous_standby_names: z.string() }) };
    await eventually(async () => expect(await database.query(names)).toEqual([{ synchronous_standby_names: standby }]));
  };
  await waitFor("nobody");
  const [page, form, api, files] = await service.ask();
  expect([page?.statusCode, api?.statusCode, files?.statusCode]).toEqual([200, 200, 200]);
  expect(form).toMatchObject({ statusCode: 503, retryAfter: "5" });
  expect(await service.readUsage()).toEqual([]);
  await waitFor("");
  await expectThere(service);
  expect(await database.execute("SELECT FROM session WHERE last_seen_at > now() - interval '30 minutes'")).toBe(1);
});

test("a database that its administrator lets only read is not written to", { timeout: 60_000 }, async () => {
  const { database, service } = await open();
  const allow = async (isReadOnly: boolean) => {
    await database.execute(`ALTER SYSTEM SET default_transaction_read_only = ${isReadOnly ? "on" : "off"}`);
    await postgres.stop();
    await postgres.start();
  };
  await allow(true);
  const [page, form, api] = await service.ask();
  expect([page?.statusCode, api?.statusCode]).toEqual([200, 200]);
  expect(form).toMatchObject({ statusCode: 503, retryAfter: "5" });
  await allow(false);
  await expectThere(service);
});
