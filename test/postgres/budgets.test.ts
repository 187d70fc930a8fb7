import { once } from "node:events";
import http from "node:http";
import net, { type AddressInfo } from "node:net";
import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import * as z from "zod";
import { sendBudgetAlerts } from "../../dashboard/budgets/watch.ts";
import type { Letter } from "../../dashboard/mail/letter.ts";
import { deliverEvents, startDeliveries } from "../../dashboard/webhooks/deliver.ts";
import { ACCOUNT_BOUNDS } from "../../contract/account-bounds.ts";
import { setBudget } from "../../ledger/budgets/set-budget.ts";
import { noteAction } from "../../ledger/people/audit.ts";
import { addMember } from "../../ledger/people/members.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { settle } from "../../ledger/settlement/settle.ts";
import { listDeliveries, MAX_SENDING_OF_ACCOUNT, queueEvent } from "../../ledger/webhooks/deliveries.ts";
import { LOOPBACK } from "../../local/process/ports.ts";
import { eventually } from "../support/eventually.ts";
import { openDashboard } from "../support/dashboard.ts";
import { PEPPER, seedLedger, settlementOf } from "../support/ledger.ts";
import { captureLog } from "../support/log.ts";
import { usePostgres } from "../support/postgres.ts";

const postgres = usePostgres();
const BASE = "http://gateway.example";

/** An account of Ann's, with a key of Ben's. */
async function open() {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const { accountId } = customer;
  const dashboard = await openDashboard(database, { webhookNetworks: "any" });
  const [ann, ben] = [await dashboard.owner("ann@example.com"), await dashboard.owner("ben@example.com")];
  await addMember(database, { accountId, personId: ann.personId, role: "owner" });
  await addMember(database, { accountId, personId: ben.personId, role: "member" });
  await noteAction(database, { accountId, personId: ben.personId, action: "key.created", subject: customer.keyId });
  const owner = await dashboard.signIn(ann.personId, accountId);
  // With an account of his own.
  const other = ben;
  const letters: Letter[] = [];
  const { log, lines } = captureLog();
  const round = () =>
    sendBudgetAlerts({
      database,
      publicBaseUrl: BASE,
      log,
      mailer: { outbox: null, send: async (letter) => void letters.push(letter) },
    });
  const deliver = (webhookNetworks: "public" | "any" = "any") =>
    deliverEvents({ database, pepper: PEPPER, webhookNetworks, log });
  const spend = (nanoUsd: bigint) => settle(database, [settlementOf(customer, { chargeNanoUsd: nanoUsd })]);
  return { ...dashboard, ...customer, database, owner, other, benId: ben.personId, letters, lines, round, deliver, spend };
}

interface Received {
  body: string;
  headers: Record<string, string>;
}

/** An endpoint of a customer's. @param statuses of its answers; the last one holds on. */
async function startEndpoint(...statuses: number[]) {
  const received: Received[] = [];
  const server = http.createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const headers = z.record(z.string(), z.string()).parse(request.headers);
      received.push({ body: Buffer.concat(chunks).toString(), headers });
      const status = statuses[Math.min(received.length, statuses.length) - 1] ?? 200;
      response.writeHead(status, status === 302 ? { location: "/elsewhere" } : {}).end();
    });
  });
  server.listen(0, LOOPBACK);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address: AddressInfo | string | null = server.address();
  if (address === null || typeof address === "string") throw new Error("The endpoint has no port.");
  return { received, url: `http://${LOOPBACK}:${address.port}/hook` };
}

async function setWebhook(owner: Awaited<ReturnType<typeof open>>["owner"], url: string): Promise<string> {
  const { body } = await owner.post("/dashboard/budgets/webhook", { url });
  const secret = /whsec_[A-Za-z0-9+/=]{44}/.exec(body.replaceAll("&#x3D;", "=").replaceAll("&#61;", "="))?.[0];
  if (secret === undefined) throw new Error(`The page shows no secret: ${body}`);
  return secret;
}

/** As if the time of the next attempt had come. */
async function letTimePass(database: Database): Promise<void> {
  await database.execute("UPDATE webhook_delivery SET next_attempt_at = now() WHERE next_attempt_at IS NOT NULL");
}

test("each threshold is reported once a month: by email to owners, and by an event that the official library verifies (S47)", async () => {
  const { accountId, owner, letters, round, deliver, spend } = await open();
  const { received, url } = await startEndpoint(204);
  const secret = await setWebhook(owner, url);
  expect((await owner.post("/dashboard/budgets", { covered: "account", amount: "100" })).statusCode).toBe(303);

  await spend(49_999_999_999n);
  await round();
  expect(letters).toEqual([]);
  await spend(1n);
  for (let each = 0; each < 2; each++) await Promise.all([round(), round()]);
  expect(letters.map(({ to, subject }) => [to, subject])).toEqual([["ann@example.com", "acme: 50% of the monthly budget used"]]);
  expect(letters[0]?.text).toContain("spent $50.00");
  await spend(60_000_000_000n);
  await round();
  await deliver();
  // 80 and 100 were passed at once: the higher one is reported.
  expect(letters.map(({ subject }) => subject.replace(/\D+/g, " ").trim())).toEqual(["50", "100"]);
  // They are sent side by side.
  const events = received
    .toSorted((one, other) => (one.body < other.body ? -1 : 1))
    .map(({ body, headers }) => new Webhook(secret).verify(body, headers));
  expect(events).toEqual([
    expect.objectContaining({ type: "budget.threshold_reached", data: expect.objectContaining({ threshold_percent: 50 }) }),
    {
      type: "budget.threshold_reached",
      timestamp: expect.stringMatching(/^\d{4}-.*Z$/),
      data: {
        account_id: accountId,
        budget_id: expect.any(String),
        scope: "account",
        key_id: null,
        member_id: null,
        project_id: null,
        end_user: null,
        month: new Date().toISOString().slice(0, 7),
        threshold_percent: 100,
        currency: "USD",
        amount: "100.000000000",
        spent: "110.000000000",
      },
    },
  ]);
  await deliver();
  expect(received).toHaveLength(2);
  const page = (await owner.get("/dashboard/budgets")).body;
  expect(page).toContain("50%, 80%, 100%");
  expect(page).not.toContain(secret);
});

test("a member's budget counts the keys that they created and notifies them, too; a raised budget alerts again", async () => {
  const { database, accountId, benId, letters, round, spend, owner } = await open();
  const covered = { covered: `member:${benId}`, amount: "1" };
  expect((await owner.post("/dashboard/budgets", covered)).statusCode).toBe(303);
  await spend(900_000_000n);
  await round();
  expect(letters.map(({ to }) => to)).toEqual(["ann@example.com", "ben@example.com"]);
  expect(letters[0]?.text).toContain("The API keys that ben@example.com created");
  await owner.post("/dashboard/budgets", { ...covered, amount: "1.5" });
  await round();
  await owner.post("/dashboard/budgets", { ...covered, amount: "1" });
  await round();
  expect(letters.map(({ subject }) => subject)).toEqual(Array.from({ length: 4 }, () => "acme: 80% of the monthly budget used"));
  // The spend of others does not count.
  const other = await seedLedger(database, "other");
  await settle(database, [settlementOf({ accountId, keyId: other.keyId }, { chargeNanoUsd: 5_000_000_000n })]);
  await round();
  expect(letters).toHaveLength(4);
});

test("an email that was not accepted is sent in a later round", async () => {
  const { database, accountId, spend, round, letters } = await open();
  await setBudget(database, { accountId, scope: "account", amountNanoUsd: 1_000n });
  await spend(1_000n);
  const { log, lines } = captureLog();
  const refuse = async () => {
    throw new Error("the mail server is away");
  };
  await sendBudgetAlerts({ database, publicBaseUrl: BASE, log, mailer: { outbox: null, send: refuse } });
  expect(JSON.stringify(lines)).toContain("the mail server is away");
  await round();
  expect(letters.map(({ subject }) => subject)).toEqual(["acme: 100% of the monthly budget used"]);
});

test("an event is sent again until it is accepted, with the same id; after seven attempts it is dropped", async () => {
  const { database, accountId, owner, deliver } = await open();
  const { received, url } = await startEndpoint(500, 302, 200, 500);
  await setWebhook(owner, url);
  await owner.post("/dashboard/budgets/webhook/test");
  const status = async () => (await listDeliveries(database, { accountId, limit: 1 }))[0];
  await deliver();
  expect(await status()).toMatchObject({ status: "waiting", attempts: 1, problem: "The endpoint answered with status 500." });
  await deliver();
  expect(received).toHaveLength(1);
  for (let attempt = 0; attempt < 2; attempt++) {
    await letTimePass(database);
    await deliver();
  }
  expect(await status()).toMatchObject({ status: "delivered", attempts: 3, problem: null });
  expect(new Set(received.map(({ headers }) => headers["webhook-id"])).size).toBe(1);

  await owner.post("/dashboard/budgets/webhook/test");
  for (let attempt = 0; attempt < 9; attempt++) {
    await letTimePass(database);
    await deliver();
  }
  expect(await status()).toMatchObject({ status: "failed", attempts: 7 });
  expect(received).toHaveLength(10);
});

/** An endpoint that takes connections and never answers. */
async function startSilentEndpoint(): Promise<{ url: string; connections: () => number }> {
  let connections = 0;
  const server = net.createServer((socket) => {
    connections += 1;
    socket.on("error", () => {});
    onTestFinished(() => void socket.destroy());
  });
  server.listen(0, LOOPBACK);
  await once(server, "listening");
  onTestFinished(() => void server.close());
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("The endpoint has no port.");
  return { url: `http://${LOOPBACK}:${address.port}/`, connections: () => connections };
}

test("an endpoint that never answers does not delay other accounts' events, however many wait for it", async () => {
  const { database, accountId, owner, other } = await open();
  const silent = await startSilentEndpoint();
  const { received, url } = await startEndpoint(200);
  await setWebhook(owner, silent.url);
  await setWebhook(other, url);
  const queue = (id: string) => queueEvent(database, { accountId: id, type: "webhook.test", at: new Date(), data: {} });
  for (let count = 0; count < 100; count++) await queue(accountId);
  const { log } = captureLog();
  const deliveries = startDeliveries({ database, pepper: PEPPER, webhookNetworks: "any", log, everyMs: 20 });
  onTestFinished(() => deliveries.stop());
  await eventually(() => expect(silent.connections()).toBeGreaterThan(0));
  for (let count = 0; count < 5; count++) {
    await queue(other.accountId);
    await eventually(() => expect(received).toHaveLength(count + 1));
  }
  expect(silent.connections()).toBeLessThanOrEqual(MAX_SENDING_OF_ACCOUNT);
});

test("budgets and webhooks are changed and tested a bounded number of times per day; deleting and removing always works", async () => {
  const { database, accountId, owner, program } = await open();
  const { url } = await startEndpoint(200);
  await setWebhook(owner, url);
  const { call } = await program(accountId, owner.personId, "owner");
  const budget = (await call("PUT", "/api/v1/budgets", { scope: "account", amount: "1" })).json();
  for (const [action, count] of [
    ["account.budget_set", ACCOUNT_BOUNDS.budgetChangesADay],
    ["account.webhook_tested", ACCOUNT_BOUNDS.webhookChangesADay],
  ])
    await database.execute(
      `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
       SELECT uuidv7(), $1, $2, $3, 'a subject' FROM generate_series(1, $4::int)`,
      [accountId, owner.personId, action, count],
    );
  const budgets = await call("PUT", "/api/v1/budgets", { scope: "account", amount: "2" });
  const webhook = await call("PUT", "/api/v1/webhook", { url });
  for (const answer of [budgets, webhook])
    expect([answer.statusCode, answer.headers["retry-after"], answer.json().error.message]).toEqual([
      429,
      "3600",
      expect.stringMatching(/at most \d+ times in 24 hours/),
    ]);
  expect((await owner.post("/dashboard/budgets", { covered: "account", amount: "3" })).body).toContain("at most 500 times");
  expect((await owner.post("/dashboard/budgets/webhook/test")).statusCode).toBe(429);
  expect(await listDeliveries(database, { accountId, limit: 1 })).toEqual([]);
  expect((await call("DELETE", `/api/v1/budgets/${budget.id}`)).statusCode).toBe(204);
  expect((await call("DELETE", "/api/v1/webhook")).statusCode).toBe(204);
});

test("events go only to public addresses, whatever a name resolves to when they are sent", async () => {
  const { database, accountId, owner, deliver, program, inAccount } = await open();
  const { received, url } = await startEndpoint(200);
  // Taken while private networks were open; they are shut now.
  await setWebhook(owner, url.replace(LOOPBACK, "localhost"));
  await owner.post("/dashboard/budgets/webhook/test");
  await deliver("public");
  await setWebhook(owner, url);
  await letTimePass(database);
  await deliver("public");
  expect(received).toEqual([]);
  expect((await listDeliveries(database, { accountId, limit: 1 }))[0]?.problem).toContain("private or reserved");

  const strict = await openDashboard(database);
  const { call } = strict.client({ authorization: `Bearer ${(await program(accountId, owner.personId, "owner")).token}` });
  for (const wrong of [
    "http://example.com/",
    "https://user:word@example.com/",
    "https://10.0.0.1/",
    "https://[::1]/",
    "https://[::ffff:127.0.0.1]/",
    "https://2130706433/",
    "https://169.254.169.254/latest/meta-data",
    "https://localhost/",
    "ftp://example.com/",
    "nonsense",
  ]) {
    const answer = await call("PUT", "/api/v1/webhook", { url: wrong });
    expect([wrong, answer.statusCode, answer.json().error.field]).toEqual([wrong, 400, "url"]);
  }
  expect((await (await inAccount(accountId, "member")).post("/dashboard/budgets/webhook", { url })).statusCode).toBe(403);
});

test("the API sets, lists and deletes budgets, one per scope", async () => {
  const { program, accountId, owner, keyId, benId, spend } = await open();
  const { call, get } = await program(accountId, owner.personId, "owner");
  await spend(600_000_000n);
  const made = await call("PUT", "/api/v1/budgets", { scope: "key", key_id: keyId, amount: "1" });
  expect(made.json()).toMatchObject({ scope: "key", key_id: keyId, amount: "1.000000000", spent_this_month: "0.600000000" });
  const changed = await call("PUT", "/api/v1/budgets", { scope: "key", key_id: keyId, amount: "2.50" });
  expect(changed.json()).toEqual({ ...made.json(), amount: "2.500000000" });
  await call("PUT", "/api/v1/budgets", { scope: "member", member_id: benId, amount: "3" });
  await call("PUT", "/api/v1/budgets", { scope: "account", amount: "9" });
  expect((await get("/api/v1/budgets")).json().data.map(({ scope }: { scope: string }) => scope)).toEqual([
    "account",
    "member",
    "key",
  ]);
  for (const [body, field] of [
    [{ scope: "key", amount: "1" }, "scope"],
    [{ scope: "account", key_id: keyId, amount: "1" }, "scope"],
    [{ scope: "project", key_id: keyId, amount: "1" }, "scope"],
    [{ scope: "account", amount: "0" }, "amount"],
    [{ scope: "key", key_id: "AbCd5678WxYz", amount: "1" }, null],
  ] as const) {
    const answer = await call("PUT", "/api/v1/budgets", body);
    expect([answer.statusCode >= 400 && answer.statusCode < 500, answer.json().error.field]).toEqual([true, field]);
  }
  expect((await call("DELETE", `/api/v1/budgets/${made.json().id}`)).statusCode).toBe(204);
  expect((await call("DELETE", `/api/v1/budgets/${made.json().id}`)).statusCode).toBe(404);
});
