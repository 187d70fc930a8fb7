import { randomUUID } from "node:crypto";
import { expect, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createPayments } from "../../../dashboard/payments/payments.ts";
import { beginPayment } from "../../../ledger/payments/payments.ts";
import { acceptInvitation, invite } from "../../../ledger/people/invitations.ts";
import { addMember, listMemberships, removeMember } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { expectToWait, hold } from "../../support/billing/held-rows.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openDashboard, type Client } from "../../support/dashboard/dashboard.ts";
import { FORM } from "../../support/dashboard/auto-top-up.ts";
import { createPerson } from "../../support/dashboard/people.ts";
import { eventually } from "../../support/eventually.ts";
import { captureLog } from "../../support/stacks/log.ts";

const postgres = usePostgres();
const { requestsInWork: AT_ONCE } = ACCOUNT_BOUNDS;

/** Where nothing is written until the returned function is called, so that all changes are decided at once. */
async function holdWrites(database: Database, table: "audit_entry" | "payment" | "member"): Promise<() => Promise<void>> {
  return hold(database, `LOCK TABLE ${table} IN SHARE MODE`);
}

async function expectAllToWait(database: Database): Promise<void> {
  await expectToWait(database, AT_ONCE);
}

async function start() {
  const { database, connect } = await postgres.migrated();
  const publicBaseUrl = "http://gateway.example";
  const payments = await createPayments({ provider: "test" }, { publicBaseUrl, pepper: PEPPER });
  const dashboard = await openDashboard(database, { publicBaseUrl, payments });
  const ann = await dashboard.owner("ann@example.com");
  const { accountId } = ann;
  const program = await dashboard.program(accountId, ann.personId, "owner");
  const members: string[] = [];
  for (let number = 0; number < AT_ONCE; number++) members.push((await dashboard.inAccount(accountId, "viewer")).personId);
  return { database, holder: connect("holder"), ann, program, accountId, members };
}

interface Changes {
  ann: Client;
  program: Client;
  members: readonly string[];
}

interface Case {
  name: string;
  /** The bounded action that has been done one time fewer than it may be. */
  action: string;
  max: number;
  send(changes: Changes, number: number): ReturnType<Client["get"]>;
}

const cases: readonly Case[] = [
  {
    name: "keys",
    action: "key.changed",
    max: ACCOUNT_BOUNDS.keyChangesADay,
    send: ({ program }, number) => program.call("POST", "/api/v1/keys", { name: `key ${number}` }),
  },
  {
    name: "webhooks",
    action: "account.webhook_set",
    max: ACCOUNT_BOUNDS.webhookChangesADay,
    send: ({ program }, number) =>
      program.call("POST", "/api/v1/webhooks", { url: `https://example.com/${number}`, events: ["key.created"] }),
  },
  {
    name: "the account's name",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ ann }, number) => ann.post("/dashboard/settings/account", { accountName: `name ${number}` }),
  },
  {
    name: "billing details",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ ann }, number) => ann.post("/dashboard/billing", { name: `name ${number}`, address: "", taxId: "" }),
  },
  {
    name: "balance alerts",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ ann }, number) => ann.post("/dashboard/credit/alert", { threshold: `${number + 1}` }),
  },
  {
    name: "automatic top-ups",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ ann }) => ann.post("/dashboard/credit/auto-top-up", FORM),
  },
  {
    name: "saved cards",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ ann }) => ann.post("/dashboard/credit/auto-top-up/card"),
  },
  {
    name: "roles",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ ann, members }, number) => ann.post(`/dashboard/members/${members[number]}/role`, { role: "member" }),
  },
  {
    name: "roles of provisioned users",
    action: "account.renamed",
    max: ACCOUNT_BOUNDS.settingChangesADay,
    send: ({ program, members }, number) =>
      program.call("PATCH", `/api/v1/scim/v2/Users/${members[number]}`, {
        schemas: ["urn:ietf:params:scim:api:messages:2.0:PatchOp"],
        Operations: [{ op: "replace", path: "roles", value: [{ value: "member" }] }],
      }),
  },
];

async function expectOneSuccess(sent: readonly Promise<{ statusCode: number }>[]): Promise<void> {
  const statuses = (await Promise.all(sent)).map(({ statusCode }) => statusCode);
  expect(
    statuses.filter((status) => status < 400),
    statuses.join(", "),
  ).toHaveLength(1);
}

test.for(cases)("concurrent changes of $name do not exceed their bound per day (S40)", async ({ action, max, send }) => {
  const { database, holder, accountId, ...clients } = await start();
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, action, subject) SELECT uuidv7(), $1, $2, 'it' FROM generate_series(1, $3::int)",
    [accountId, action, max - 1],
  );
  const release = await holdWrites(holder, "audit_entry");
  const sent = Array.from({ length: AT_ONCE }, (_, number) => send(clients, number));
  await eventually(() => expectAllToWait(holder));
  await release();
  await expectOneSuccess(sent);
});

test("payments that are begun concurrently do not exceed the bound of unpaid ones", async () => {
  const { database, holder, accountId, ann } = await start();
  for (let number = 1; number < ACCOUNT_BOUNDS.unpaidTopUpsADay; number++)
    await beginPayment(database, { accountId, provider: "test", providerPaymentId: `p${number}`, amountNanoUsd: 1n });
  const release = await holdWrites(holder, "payment");
  const sent = Array.from({ length: AT_ONCE }, () =>
    ann.post("/dashboard/credit/top-up", { amount: "10", attempt: randomUUID() }),
  );
  await eventually(() => expectAllToWait(holder));
  await release();
  await expectOneSuccess(sent);
});

test("a person who accepts invitations of several accounts concurrently joins no more accounts than they may", async () => {
  const { database, connect } = await postgres.migrated();
  const holder = connect("holder");
  const { person: bob } = await createPerson(database, "bob@example.com");
  const most = ACCOUNT_BOUNDS.accountsOfPerson;
  // Besides their own.
  await database.execute(
    `WITH made AS (INSERT INTO account (id, name) SELECT 'account-' || number, 'A' FROM generate_series(3, $2::int) AS number RETURNING id)
     INSERT INTO member (account_id, person_id, role) SELECT id, $1, 'viewer' FROM made`,
    [bob.id, most],
  );
  const tokens: string[] = [];
  for (let number = 0; number < AT_ONCE; number++) {
    const { person, accountId } = await createPerson(database, `ann${number}@example.com`);
    tokens.push(await invite(database, { accountId, email: bob.email, role: "viewer", invitedBy: person.id }));
  }
  const release = await holdWrites(holder, "member");
  const joining = Promise.allSettled(tokens.map((token) => acceptInvitation(database, token, bob)));
  await eventually(() => expectAllToWait(holder));
  await release();
  expect((await joining).filter(({ status }) => status === "fulfilled")).toHaveLength(1);
  expect(await listMemberships(database, bob.id)).toHaveLength(most);
});

test("an invitation is accepted while the owner who sent it is removed, without a deadlock", async () => {
  const { database, connect } = await postgres.migrated();
  const { lines, log } = captureLog("info");
  const { person: ann, accountId } = await createPerson(database, "ann@example.com");
  const { person: bob } = await createPerson(database, "bob@example.com");
  const { person: eve } = await createPerson(database, "eve@example.com");
  await database.transaction((transaction) => addMember(transaction, { accountId, personId: eve.id, role: "owner" }));
  const token = await invite(database, { accountId, email: bob.email, role: "viewer", invitedBy: ann.id });
  const members = connect("members", { log });
  const release = await hold(connect("holder"), "SELECT FROM account WHERE id = $1 FOR NO KEY UPDATE", [accountId]);
  const removing = members.transaction((transaction) => removeMember(transaction, { accountId, personId: ann.id }));
  await eventually(() => expectToWait(database, 1));
  const both = Promise.allSettled([removing, acceptInvitation(members, token, bob)]);
  await eventually(() => expectToWait(database, 2));
  await release();
  expect((await both).map(({ status }) => status)).toEqual(["fulfilled", "rejected"]);
  expect(lines).toEqual([]);
});
