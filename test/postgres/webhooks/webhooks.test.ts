import { Webhook } from "standardwebhooks";
import { expect, onTestFinished, test } from "vitest";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createKeyActions } from "../../../dashboard/keys/key-actions.ts";
import { startDeliveries } from "../../../dashboard/webhooks/deliver.ts";
import { addMember, changeRole, removeMember } from "../../../ledger/people/members.ts";
import { beginPayment, completePayment, failPayment } from "../../../ledger/payments/payments.ts";
import { refundPayment } from "../../../ledger/payments/reversals.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { listDeliveries, MAX_ATTEMPTS } from "../../../ledger/webhooks/deliveries.ts";
import { listEndpoints } from "../../../ledger/webhooks/endpoints.ts";
import { EVENT_TYPES } from "../../../ledger/webhooks/event-types.ts";
import { queueEvent } from "../../../ledger/webhooks/events.ts";
import { LOOPBACK } from "../../../local/process/ports.ts";
import { eventually } from "../../support/eventually.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";
import { chosenOf } from "../../support/dashboard/page-fields.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { startReceiver, startSilentReceiver } from "../../support/servers/webhook-receiver.ts";
import { BASE, dataOf, letTimePass, openWebhooks, typesOf } from "./harness.ts";

const postgres = usePostgres();
const PATH = "/dashboard/webhook-endpoints";
const open = async () => openWebhooks((await postgres.migrated()).database);

test("events of keys, credit and members reach the endpoints that chose them, in order, verified by the official library (S47)", async () => {
  const { database, accountId, owner, other, call, watch, deliver, keyId } = await open();
  const [all, keys] = [await startReceiver(204), await startReceiver(200)];
  const page = (await owner.post(PATH, { url: all.url, events: EVENT_TYPES.join(",") })).body.replaceAll("&#61;", "=");
  const secret = /whsec_[A-Za-z0-9+/=]{44}/.exec(page.replaceAll("&#x3D;", "="))?.[0] ?? "";
  const made = (await call("POST", "/api/v1/webhooks", { url: keys.url, events: ["key.created"] })).json();
  expect(made).toMatchObject({ events: ["key.created"], status: "active", secret: expect.stringMatching(/^whsec_/) });

  const key = (await call("POST", "/api/v1/keys", { name: "build" })).json();
  await call("POST", `/api/v1/keys/${key.id}/rotate`, {});
  for (const name of ["one", "other"]) await call("PATCH", `/api/v1/keys/${key.id}`, { name, disabled: name === "one" });
  await owner.post(`/dashboard/keys/${key.id}/disable`);
  await owner.post(`/dashboard/keys/${key.id}/enable`);
  await call("DELETE", `/api/v1/keys/${key.id}`);
  const name = { provider: "test", providerPaymentId: "p1" };
  await beginPayment(database, { accountId, ...name, amountNanoUsd: 5_000_000_000n });
  for (let each = 0; each < 2; each++) await completePayment(database, name);
  for (let each = 0; each < 2; each++) await refundPayment(database, { ...name, refundId: "r", amountNanoUsd: 1_000_000_000n });
  await beginPayment(database, { accountId, provider: "test", providerPaymentId: "p2", amountNanoUsd: 7_000_000_000n });
  for (let each = 0; each < 2; each++) await failPayment(database, { provider: "test", providerPaymentId: "p2" });
  const member = { accountId, personId: other.personId } as const;
  await database.transaction((transaction) => addMember(transaction, { ...member, role: "viewer" }));
  for (let each = 0; each < 2; each++)
    await database.transaction((transaction) => changeRole(transaction, { ...member, role: "member" }));
  await database.transaction((transaction) => removeMember(transaction, member));
  await watch();
  await settle(database, [settlementOf({ accountId, keyId }, { chargeNanoUsd: 1_000_000_000_000n })]);
  for (let each = 0; each < 2; each++) await Promise.all([watch(), watch()]);
  await deliver();

  expect(typesOf(keys)).toEqual(["key.created"]);
  expect(typesOf(all)).toEqual([
    "key.created",
    "key.rotated",
    "key.disabled",
    "key.enabled",
    "key.disabled",
    "key.enabled",
    "key.deleted",
    "credit.top_up_succeeded",
    "credit.payment_refunded",
    "credit.top_up_failed",
    "member.joined",
    "member.role_changed",
    "member.removed",
    "credit.balance_low",
    "credit.balance_exhausted",
  ]);
  for (const { body, headers } of all.received) new Webhook(secret).verify(body, headers);
  expect(() => new Webhook(made.secret).verify(all.received[0]?.body ?? "", all.received[0]?.headers ?? {})).toThrow(
    "No matching signature found",
  );
  const [created, , , , disabled, , , topUp, refund] = dataOf(all);
  expect(created).toEqual({
    account_id: accountId,
    key_id: key.id,
    key_name: "build",
    by_member_id: null,
    by_token_id: expect.any(String),
  });
  expect(disabled).toMatchObject({ by_member_id: owner.personId, by_token_id: null });
  expect(topUp).toMatchObject({ currency: "USD", amount: "5.000000000", balance: expect.any(String) });
  expect(refund).toMatchObject({ amount: "1.000000000" });
  const sent = all.received.map(({ body }) => body).join("");
  expect(sent).not.toContain(key.key);
  expect(JSON.parse(all.received[0]?.body ?? "")).toMatchObject({ version: 1, timestamp: expect.stringMatching(/^\d{4}-.*Z$/) });
  // The same event has one id, whichever endpoint gets it.
  expect(keys.received[0]?.headers["webhook-id"]).toBe(all.received[0]?.headers["webhook-id"]);
});

test("what was not done is not told: an event is stored with its change, or not at all", async () => {
  const { database, accountId, add, queue, owner } = await open();
  await add("https://example.com/");
  const failed = database.transaction(async (transaction) => {
    await queueEvent(transaction, { accountId, type: "key.created", data: {} });
    throw new Error("something else failed");
  });
  await expect(failed).rejects.toThrow("something else failed");
  const [endpoint] = await listEndpoints(database, accountId);
  const waiting = () => listDeliveries(database, { endpointId: endpoint?.id ?? "", limit: 9 });
  expect(await waiting()).toEqual([]);
  const actions = createKeyActions({ database, pepper: PEPPER, modelsField: "models", projectField: "project" });
  const actor = { accountId, personId: owner.personId, tokenId: null, mustProveEmail: false };
  await expect(actions.delete(actor, "AbCd5678WxYz")).rejects.toMatchObject({ code: "not_found" });
  expect(await waiting()).toEqual([]);
  // Nobody listens to the other account.
  await queue("key.created", "no-account");
  expect(await waiting()).toEqual([]);
});

test("an event is sent again until it is accepted, with the same id; later ones wait for it, and pass it after four attempts", async () => {
  const { database, owner, add, queue, deliver } = await open();
  const receiver = await startReceiver(500, 302, 200);
  const { endpoint } = await add(receiver.url);
  const list = () => listDeliveries(database, { endpointId: endpoint.id, limit: 9 });
  await queue("key.created");
  await queue("key.deleted");
  await deliver();
  expect(await list()).toMatchObject([
    { type: "key.deleted", status: "waiting", attempts: 0 },
    { type: "key.created", status: "waiting", attempts: 1, problem: "The server responded with status 500." },
  ]);
  await letTimePass(database);
  expect((await owner.get(`/dashboard/webhook-endpoints/${endpoint.id}`)).body).toMatch(/Next attempt <time[^>]*>now</);
  await deliver();
  await letTimePass(database);
  await deliver();
  expect(typesOf(receiver)).toEqual(["key.created", "key.created", "key.created", "key.deleted"]);
  expect(new Set(receiver.received.map(({ headers }) => headers["webhook-id"])).size).toBe(2);
  expect(await list()).toMatchObject([{ status: "delivered" }, { status: "delivered", attempts: 3, problem: null }]);

  const picky = await startReceiver(400, 400, 400, 400, 200);
  await database.execute("UPDATE webhook_endpoint SET url = $1", [picky.url]);
  await queue("key.created");
  await queue("key.deleted");
  for (let each = 0; each < 4; each++) {
    await letTimePass(database);
    await deliver();
  }
  expect(typesOf(picky)).toEqual([...Array.from({ length: 4 }, () => "key.created"), "key.deleted"]);
});

test("several replicas send each event once, and one after another", async () => {
  const { database, add, queue } = await open();
  const receiver = await startReceiver(200);
  await add(receiver.url);
  for (let count = 0; count < 40; count++) await queue("key.created");
  const { log } = captureLog();
  const replicas = [1, 2, 3].map(() => startDeliveries({ database, pepper: PEPPER, targetNetworks: "any", log, everyMs: 20 }));
  onTestFinished(async () => void (await Promise.all(replicas.map((each) => each.stop()))));
  await eventually(() => expect(receiver.received).toHaveLength(40));
  const ids = receiver.received.map(({ headers }) => headers["webhook-id"]);
  expect(new Set(ids).size).toBe(40);
  expect(ids).toEqual(ids.toSorted((one = "", another = "") => (one < another ? -1 : 1)));
});

test("an endpoint that never answers does not delay other events, however many wait for it", async () => {
  const { database, add, queue, other } = await open();
  const silent = await startSilentReceiver();
  const [own, others] = [await startReceiver(200), await startReceiver(200)];
  await add(silent.url);
  await add(own.url, ["key.deleted"]);
  await add(others.url, EVENT_TYPES, other.accountId);
  for (let count = 0; count < 100; count++) await queue("key.created");
  const { log } = captureLog();
  const deliveries = startDeliveries({ database, pepper: PEPPER, targetNetworks: "any", log, everyMs: 20 });
  onTestFinished(() => deliveries.stop());
  await eventually(() => expect(silent.connections()).toBeGreaterThan(0));
  for (let count = 0; count < 5; count++) {
    await queue("key.deleted");
    await queue("key.created", other.accountId);
    await eventually(() => expect([own.received.length, others.received.length]).toEqual([count + 1, count + 1]));
  }
  expect(silent.connections()).toBe(1);
});

test("an endpoint that accepts nothing for three days is disabled with a letter, and its page says so", async () => {
  const { database, accountId, owner, add, queue, watch, deliver, letters, call } = await open();
  const receiver = await startReceiver(500);
  const { endpoint } = await add(receiver.url);
  const path = `${PATH}/${endpoint.id}`;
  await queue("key.created");
  await queue("key.deleted");
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    await letTimePass(database);
    await deliver();
  }
  for (let each = 0; each < 2; each++) await Promise.all([watch(), watch()]);
  expect(letters.map(({ to, subject }) => [to, subject])).toEqual([["ann@example.com", "acme: a webhook was disabled"]]);
  expect(letters[0]?.text).toContain(`${BASE}${path}`);
  expect((await call("GET", `/api/v1/webhooks/${endpoint.id}`)).json()).toMatchObject({ status: "failed" });
  expect((await owner.get(path)).body).toContain("accepted no events for nearly three days");
  // It gets nothing more, until somebody enables it.
  await queue("key.created");
  await deliver();
  expect(typesOf(receiver).filter((type) => type === "key.created")).toHaveLength(MAX_ATTEMPTS);
  const { data } = (await call("GET", `/api/v1/webhooks/${endpoint.id}/deliveries`)).json();
  expect(data.map(({ status }: { status: string }) => status)).toEqual(["failed", "failed"]);
  expect((await call("POST", `/api/v1/webhooks/${endpoint.id}/test`)).statusCode).toBe(400);

  const healed = await startReceiver(200);
  await call("PATCH", `/api/v1/webhooks/${endpoint.id}`, { url: healed.url, disabled: false });
  await owner.post(`${path}/deliveries/${data[1].id}/repeat`);
  await owner.post(`${path}/test`);
  await deliver();
  expect(typesOf(healed)).toEqual(["key.created", "webhook.test"]);
  expect(healed.received[0]?.headers["webhook-id"]).toBe(data[1].event_id);
  const page = (await owner.get(path)).body;
  expect(page).toContain("Resend");
  const shown = await owner.get(`${path}/deliveries/${data[1].id}`);
  expect(shown.body).toContain(data[1].event_id);
  // One event that is refused does not disable an endpoint that accepts others.
  await database.execute("UPDATE webhook_endpoint SET accepted_at = now()");
  expect((await listEndpoints(database, accountId))[0]?.disabledBy).toBeNull();
});

test("a replaced secret signs along for the time of the overlap", async () => {
  const { database, add, queue, deliver, call, owner } = await open();
  const receiver = await startReceiver(200);
  const { endpoint, secret } = await add(receiver.url);
  const rotated = (await call("POST", `/api/v1/webhooks/${endpoint.id}/rotate`, { overlap_hours: 1 })).json();
  expect(Date.parse(rotated.previous_secret_until)).toBeGreaterThan(Date.now() + 3_500_000);
  await queue("key.created");
  await deliver();
  await database.execute("UPDATE webhook_endpoint SET previous_until = now()");
  await queue("key.created");
  await deliver();
  const [during, after] = receiver.received;
  if (during === undefined || after === undefined) throw new Error("The events did not arrive.");
  for (const each of [secret, rotated.secret]) new Webhook(each).verify(during.body, during.headers);
  new Webhook(rotated.secret).verify(after.body, after.headers);
  expect(() => new Webhook(secret).verify(after.body, after.headers)).toThrow("No matching signature found");
  expect((await owner.get(`${PATH}/${endpoint.id}`)).body).not.toContain("whsec_");
  expect((await owner.post(`${PATH}/${endpoint.id}/rotate`, { overlap: "5" })).statusCode).toBe(400);
  // Whoever confirms the page as it is does not lose events.
  expect(chosenOf((await owner.get(`${PATH}/${endpoint.id}/rotate`)).body, "overlap")).toBe("24");
});

test("an account has a bounded number of webhooks, changes, and waiting events; stopping always works", async () => {
  const { database, accountId, owner, call, add, queue } = await open();
  const { endpoint } = await add("https://example.com/");
  for (let count = 1; count < ACCOUNT_BOUNDS.webhooks; count++) await add("https://example.com/");
  const settings = { url: "https://example.com/", events: ["key.created"] };
  expect((await call("POST", "/api/v1/webhooks", settings)).json().error.message).toContain("at most 5 webhooks");
  expect((await owner.get(PATH)).body).toContain("the maximum");
  for (const [wrong, field] of [
    [{ ...settings, events: [] }, "events"],
    [{ ...settings, events: ["key.unknown"] }, "events.0"],
    [{ ...settings, url: "nonsense" }, "url"],
  ] as const)
    expect((await call("PATCH", `/api/v1/webhooks/${endpoint.id}`, wrong)).json().error.field).toBe(field);

  await database.execute(
    `INSERT INTO event_delivery (id, endpoint_id, event_id, type, body)
     SELECT uuidv7(), $1, uuidv7(), 'key.created', '{}' FROM generate_series(1, $2::int)`,
    [endpoint.id, ACCOUNT_BOUNDS.waitingEvents],
  );
  await queue("key.deleted");
  expect(await listDeliveries(database, { endpointId: endpoint.id, limit: 1 })).toMatchObject([{ type: "key.created" }]);
  expect((await owner.get(`${PATH}/${endpoint.id}`)).body).toContain("some were dropped");

  await database.execute(
    `INSERT INTO audit_entry (id, account_id, person_id, action, subject)
     SELECT uuidv7(), $1, $2, 'account.webhook_tested', 'a subject' FROM generate_series(1, $3::int)`,
    [accountId, owner.personId, ACCOUNT_BOUNDS.webhookChangesADay],
  );
  const refused = await call("POST", `/api/v1/webhooks/${endpoint.id}/test`);
  expect([refused.statusCode, refused.headers["retry-after"]]).toEqual([429, "3600"]);
  expect((await owner.post(`${PATH}/${endpoint.id}/test`)).statusCode).toBe(429);
  expect((await call("PUT", "/api/v1/webhook", { url: "https://example.com/" })).statusCode).toBe(429);
  // The second one stops nothing, and leaves no row.
  for (const _ of [1, 2])
    expect((await call("PATCH", `/api/v1/webhooks/${endpoint.id}`, { disabled: true })).json().status).toBe("disabled");
  expect(await database.execute("SELECT FROM audit_entry WHERE action = 'account.webhook_disabled'")).toBe(1);
  expect((await call("DELETE", `/api/v1/webhooks/${endpoint.id}`)).statusCode).toBe(204);
});

test("events go only to public addresses, whatever a name resolves to when they are sent", async () => {
  const { database, accountId, owner, deliver, program, inAccount, add, queue } = await open();
  const receiver = await startReceiver(200);
  // Taken while private networks were open; they are shut now.
  const { endpoint } = await add(receiver.url.replace(LOOPBACK, "localhost"));
  await queue("key.created");
  await deliver("public");
  await database.execute("UPDATE webhook_endpoint SET url = $1", [receiver.url]);
  await letTimePass(database);
  await deliver("public");
  expect(receiver.received).toEqual([]);
  expect((await listDeliveries(database, { endpointId: endpoint.id, limit: 1 }))[0]?.problem).toContain("private or reserved");

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
    for (const [method, path, body] of [
      ["PUT", "/api/v1/webhook", { url: wrong }],
      ["POST", "/api/v1/webhooks", { url: wrong, events: ["key.created"] }],
      ["PATCH", `/api/v1/webhooks/${endpoint.id}`, { url: wrong }],
    ] as const) {
      const answer = await call(method, path, body);
      expect([path, wrong, answer.statusCode, answer.json().error.field]).toEqual([path, wrong, 400, "url"]);
    }
  }
  const values = { url: receiver.url, events: "key.created" };
  expect((await (await inAccount(accountId, "member")).post(PATH, values)).statusCode).toBe(403);
});

test("one account's webhooks and deliveries are out of another's reach", async () => {
  const { database, add, queue, other, program } = await open();
  const { endpoint } = await add("https://example.com/");
  await queue("key.created");
  const [delivery] = await listDeliveries(database, { endpointId: endpoint.id, limit: 1 });
  const { endpoint: own } = await add("https://example.com/", EVENT_TYPES, other.accountId);
  const { call } = await program(other.accountId, other.personId, "owner");
  const deliveries = (id: string) => `/api/v1/webhooks/${id}/deliveries/${delivery?.id ?? ""}/repeat`;
  for (const path of [deliveries(endpoint.id), deliveries(own.id)]) expect((await call("POST", path)).statusCode).toBe(404);
  expect((await other.get(`${PATH}/${own.id}/deliveries/${delivery?.id ?? ""}`)).statusCode).toBe(404);
  expect((await other.get(`${PATH}/${own.id}/deliveries/nonsense`)).statusCode).toBe(404);
});
