import { expect, test } from "vitest";
import * as z from "zod";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { takeEnding } from "../../../ledger/batches/ending.ts";
import { takeUnprepared } from "../../../ledger/batches/preparing.ts";
import { takeRequests } from "../../../ledger/batches/sending.ts";
import { claimBudgetLetters, noteReachedBudgets } from "../../../ledger/budgets/budget-alerts.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { readAccountPage } from "../../../ledger/feed/pages.ts";
import { openIncident } from "../../../ledger/incidents/incidents.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { claimStoppedAutoTopUps, stopAutoTopUp, turnOnAutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import { beginPayment, completePayment } from "../../../ledger/payments/payments.ts";
import { disputePayment } from "../../../ledger/payments/reversals.ts";
import { acceptInvitation, invite } from "../../../ledger/people/invitations.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { makeThing, type ThingMaker } from "../../support/dashboard/account-things.ts";
import type { Thing } from "../../support/dashboard/access.ts";
import { ACCESS } from "../../support/dashboard/access-table.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** What stays usable after a rollback from a version whose rows have names that this one does not know (S27). */
const postgres = usePostgres();
const LONG = 300_000;
const BASE_URL = "http://127.0.0.1:1";
const NAME = "newer_name";

async function open() {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const payments = await createPayments({ provider: "test" }, { publicBaseUrl: BASE_URL, pepper: PEPPER });
  const mailer = { send: async () => {}, outbox: null };
  const dashboard = await openDashboard(database, { publicBaseUrl: BASE_URL, payments, mailer });
  const owner = await dashboard.owner("ann@example.com");
  const maker: ThingMaker = { database, ...owner, mark: "newermark" };
  return { ...dashboard, database, owner, maker, make: (thing: Thing) => makeThing(thing, maker) };
}

interface NameColumn {
  table: string;
  column: string;
}

/** Others that have names, which only the programs restrict. */
const UNCHECKED: readonly NameColumn[] = [
  { table: "audit_entry", column: "action" },
  { table: "batch", column: "interface" },
  { table: "event_delivery", column: "type" },
  { table: "prompt_record", column: "interface" },
];

/** Columns of names; those that a check restricts to a list are found in the database. */
async function nameColumns(database: Database): Promise<NameColumn[]> {
  const checked = await database.query({
    text: `SELECT DISTINCT relname::text AS table, attname::text AS column
           FROM pg_constraint JOIN pg_class ON pg_class.oid = conrelid AND NOT relispartition
           JOIN pg_attribute ON attrelid = conrelid AND attnum = conkey[1]
           WHERE contype = 'c' AND cardinality(conkey) = 1 AND atttypid IN ('text'::regtype, 'varchar'::regtype)
             AND pg_get_constraintdef(pg_constraint.oid) ~ 'ANY \\(+ARRAY\\[' ORDER BY 1, 2`,
    row: z.strictObject({ table: z.string(), column: z.string() }),
  });
  return [...checked, ...UNCHECKED];
}

/** As the migration of a newer version does. */
async function allowNewNames(database: Database, { table, column }: NameColumn): Promise<void> {
  const checks = await database.query({
    text: `SELECT conname::text AS name FROM pg_constraint WHERE conrelid = $1::regclass AND contype = 'c' AND conkey @> ARRAY(
             SELECT attnum FROM pg_attribute WHERE attrelid = $1::regclass AND attname = $2)`,
    values: [table, column],
    row: z.strictObject({ name: z.string() }),
  });
  for (const { name } of checks) await database.execute(`ALTER TABLE ${table} DROP CONSTRAINT ${name}`);
  await database.execute(`ALTER TABLE ${table} DISABLE TRIGGER USER`);
}

/** Rows that keep their names: those that the reader's own right to look follows from, and charges, which no list shows. */
const KEPT: Readonly<Record<string, string>> = {
  "member.role": "person_id NOT IN (SELECT id FROM person WHERE email IN ('ann@example.com', 'root@example.com'))",
  "management_token.role": "name <> 'a owner''s program'",
  "ledger_entry.kind": "kind <> 'usage'",
};

async function writeNewNames(database: Database, columns: readonly NameColumn[]): Promise<void> {
  for (const { table, column } of columns)
    await database.execute(
      `UPDATE ${table} SET ${column} = $1 WHERE ${column} IS NOT NULL AND ${KEPT[`${table}.${column}`] ?? "true"}`,
      [NAME],
    );
}

test("every page and answer of the API opens though each row has names of a newer version (S27)", { timeout: LONG }, async () => {
  const { database, owner, admin, program, make, client } = await open();
  const { accountId, personId } = owner;
  const columns = await nameColumns(database);
  expect(columns.length).toBeGreaterThan(25);
  for (const column of columns) await allowNewNames(database, column);
  const incident = { title: "Slow", impact: "minor", status: "investigating", message: "We look into it.", personId } as const;
  const incidentId = await database.transaction((transaction) => openIncident(transaction, incident));
  await turnOnAutoTopUp(database, accountId, { belowNanoUsd: 1n, amountNanoUsd: 2n, monthlyNanoUsd: 3n });
  await stopAutoTopUp(database, accountId, "declined");
  for (const thing of THINGS) await make(thing);
  await database.execute("UPDATE webhook_endpoint SET disabled_at = now(), disabled_by = 'owner'");
  await database.execute("UPDATE trace_destination SET disabled_at = now(), disabled_by = 'owner'");
  const byToken = client({ authorization: `Bearer ${(await program(accountId, personId, "owner")).token}` });
  const root = await admin();
  const made = new Map<Thing, string>();

  async function addressOf(pattern: string, ids: Readonly<Record<string, Thing>>): Promise<string> {
    if (pattern.startsWith("/dashboard/admin/incidents/")) return `/dashboard/admin/incidents/${incidentId}`;
    let address = pattern;
    for (const [parameter, thing] of Object.entries(ids)) {
      const id = made.get(thing) ?? (await make(thing));
      made.set(thing, id);
      address = address.replace(`:${parameter}`, id);
    }
    return address;
  }

  const pages = Object.entries(ACCESS).filter(([name]) => name.startsWith("GET /") && !name.includes("/oidc/"));
  const asked = [];
  for (const [name, { owner: forOwner, ids = {} }] of pages) {
    const url = await addressOf(name.slice("GET ".length), ids);
    const isForAdmins = url.startsWith("/dashboard/admin") || url.startsWith("/api/v1/service") || forOwner === 403;
    const reader = isForAdmins ? root : url.startsWith("/api/") ? byToken : owner;
    asked.push({ name, url, reader, before: (await reader.get(url)).statusCode });
  }
  await writeNewNames(database, columns);
  const changed = [];
  for (const { name, url, reader, before } of asked) {
    const { statusCode } = await reader.get(url);
    if (statusCode !== before) changed.push([name, before, statusCode]);
  }
  expect(asked.filter(({ before }) => before === 200).length).toBeGreaterThan(100);
  expect(changed).toEqual([
    // Only what is known to have ended has results.
    ["GET /dashboard/batches/:id/output", 200, 404],
    ["GET /dashboard/batches/:id/error", 200, 404],
  ]);
});

/** Of those that the account's pages list. */
const THINGS = ["key", "token", "person", "invitation", "payment", "receipt", "budget", "provider", "request", "record"] as const;

test("a name that this version does not know is shown as Other (S27)", async () => {
  const { database, owner, make } = await open();
  const columns = await nameColumns(database);
  for (const column of columns) await allowNewNames(database, column);
  const requestId = await make("request");
  const destinationId = await make("trace destination");
  for (const thing of ["receipt", "budget", "provider", "person"] as const) await make(thing);
  await writeNewNames(database, columns);
  const shown = async (url: string) => (await owner.get(url)).body;
  expect(await shown("/dashboard/usage/requests")).toMatch(/>Other</);
  expect(await shown(`/dashboard/usage/requests/${requestId}`)).toMatch(/Other\. This version of the service does not know/);
  expect(await shown("/dashboard/trace-destinations")).toMatch(/data-label="Type">Other</);
  const destination = await shown(`/dashboard/trace-destinations/${destinationId}`);
  expect(destination).toContain("cannot send to destinations of this type");
  expect(destination).not.toMatch(/Send test trace|Save</);
  expect(await shown("/dashboard/credit")).toMatch(/>Other</);
  expect(await shown("/dashboard/billing")).toMatch(/>other</);
  expect(await shown("/dashboard/budgets")).toContain("Other: no alerts are sent");
  expect(await shown("/dashboard/provider-keys")).toMatch(/badge failed">Other</);
  expect(await shown("/dashboard/members")).not.toContain(NAME);
});

test("a role that this version does not know allows nothing, in pages, as a token and as an invitation (S24)", async () => {
  const { database, owner, inAccount, program, make, client } = await open();
  for (const table of ["member", "management_token", "invitation"]) await allowNewNames(database, { table, column: "role" });
  await make("key");
  const ben = await inAccount(owner.accountId, "member", "ben@example.com");
  const { token } = await program(owner.accountId, owner.personId, "viewer");
  const byToken = client({ authorization: `Bearer ${token}` });
  const invitation = await invite(database, {
    accountId: owner.accountId,
    email: "c@example.com",
    role: "viewer",
    invitedBy: owner.personId,
  });
  expect([(await ben.get("/dashboard/keys")).statusCode, (await byToken.get("/api/v1/keys")).statusCode]).toEqual([200, 200]);
  for (const table of ["management_token", "invitation"]) await database.execute(`UPDATE ${table} SET role = $1`, [NAME]);
  await database.execute("UPDATE member SET role = $1 WHERE person_id = $2", [NAME, ben.personId]);

  const page = await ben.get("/dashboard/keys");
  expect([page.statusCode, page.body.includes("newermark")]).toEqual([403, false]);
  expect((await byToken.get("/api/v1/keys")).statusCode).toBe(401);
  expect((await owner.get("/dashboard/tokens")).body).toMatch(/Other<[^]*stopped</);
  await expect(acceptInvitation(database, invitation, { id: ben.personId })).rejects.toThrow("Ask for a new one");
  // An owner gives the member a role that is known here.
  await owner.post(`/dashboard/members/${ben.personId}/role`, { role: "viewer" });
  expect((await ben.get("/dashboard/keys")).statusCode).toBe(200);
});

test("in a status that this version does not know, an account makes no payments, and a payment moves no credit (S26)", async () => {
  const { database, owner, make } = await open();
  const { accountId } = owner;
  for (const table of ["account", "payment", "payment_dispute"]) await allowNewNames(database, { table, column: "status" });
  const name = { provider: "test", providerPaymentId: "cs_1" };
  await beginPayment(database, { accountId, ...name, amountNanoUsd: 5_000_000_000n });
  await database.execute("UPDATE payment SET status = $1", [NAME]);
  await expect(completePayment(database, name)).rejects.toMatchObject({ code: "billing_unavailable" });
  await database.execute("UPDATE payment SET status = 'pending'");
  await completePayment(database, name);
  await disputePayment(database, { ...name, disputeId: "dp_1", status: "open" });
  await database.execute("UPDATE payment_dispute SET status = $1", [NAME]);
  await expect(disputePayment(database, { ...name, disputeId: "dp_1", status: "won" })).rejects.toMatchObject({
    code: "billing_unavailable",
  });
  await make("receipt");

  await database.execute("UPDATE account SET status = $1", [NAME]);
  const refused = await owner.post("/dashboard/credit/top-up", { amount: "5", attempt: "0199d8a0-0000-4000-8000-000000000001" });
  expect([refused.statusCode, refused.body]).toEqual([403, expect.stringContaining("suspended")]);
});

test("work for all accounts goes on beside rows with names of a newer version (S40)", async () => {
  const { database, owner, maker, make } = await open();
  const { accountId } = owner;
  for (const table of ["batch", "budget", "auto_top_up", "provider_key"])
    for (const { column } of (await nameColumns(database)).filter((each) => each.table === table))
      await allowNewNames(database, { table, column });
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1_000_000_000n, reference: "g" });
  const newer = await make("batch");
  await database.execute("UPDATE batch SET interface = $1, width = 4 WHERE id = $2", [NAME, newer]);
  expect(await takeRequests(database, { holder: "h", limit: 1 })).toEqual([]);
  expect(await takeUnprepared(database)).toBeUndefined();
  await database.execute("UPDATE batch SET state = 'preparing', input_file_id = 'file-1' WHERE id = $1", [newer]);
  expect(await takeUnprepared(database)).toBeUndefined();
  await database.execute("UPDATE batch SET state = 'ending' WHERE id = $1", [newer]);
  expect(await takeEnding(database)).toBeUndefined();

  await makeThing("request", maker);
  await makeThing("budget", maker);
  await database.execute("UPDATE budget SET scope = $1", [NAME]);
  await database.execute(
    `INSERT INTO budget_alert (budget_id, month, percent, spent_nano_usd, amount_nano_usd, is_mail_due)
     SELECT id, date_trunc('month', now())::date, 50, 1, 1, true FROM budget`,
  );
  await noteReachedBudgets(database, async () => {});
  expect(await claimBudgetLetters(database)).toEqual([]);

  await turnOnAutoTopUp(database, accountId, { belowNanoUsd: 1n, amountNanoUsd: 2n, monthlyNanoUsd: 3n });
  await stopAutoTopUp(database, accountId, "declined");
  await database.execute("UPDATE auto_top_up SET stopped_because = $1", [NAME]);
  expect(await claimStoppedAutoTopUps(database)).toMatchObject([{ accountId, because: "other" }]);

  // Its requests without this key are served.
  await make("provider");
  await database.execute("UPDATE provider_key SET state = $1", [NAME]);
  await database.execute(
    `UPDATE account SET provider_keys = (SELECT jsonb_agg(jsonb_build_object('id', id, 'provider', provider, 'origin', origin,
       'state', state, 'fingerprints', fingerprints)) FROM provider_key) WHERE id = $1`,
    [accountId],
  );
  const { accounts, unreadable } = await readAccountPage(database, { afterId: "" });
  expect(unreadable).toEqual([]);
  expect(accounts.find((account) => account.accountId === accountId)?.providerKeys).toMatchObject([{ state: "unusable" }]);
});
