import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import * as z from "zod";
import { DAY_MS } from "../../../contract/days.ts";
import { mintApiKey } from "../../../ledger/keys/keys.ts";
import { addResourceKey, changeResourceKey, revokeResourceKey, rotateResourceKey } from "../../../ledger/keys/resource-keys.ts";
import { suspendMadeThingsIn } from "../../../ledger/people/made-by.ts";
import { dropOldDeliveries } from "../../../ledger/webhooks/deliveries.ts";
import { listEndpoints } from "../../../ledger/webhooks/endpoints.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { resourceKey } from "../../support/billing/resource-key.ts";
import { startReceiver } from "../../support/servers/webhook-receiver.ts";
import { dataOf, openWebhooks, typesOf } from "./harness.ts";

const postgres = usePostgres();
const open = async () => openWebhooks((await postgres.migrated()).database);

test("deliveries are kept for 30 days, and ten thousand of an endpoint", async () => {
  const { database, add } = await open();
  const { endpoint } = await add("https://example.com/");
  await database.execute(
    `INSERT INTO event_delivery (id, endpoint_id, event_id, type, body, next_attempt_at, created_at)
     SELECT uuidv7(), $1, uuidv7(), 'key.created', '{}', NULL, CASE WHEN number <= 5 THEN now() - interval '31 days' ELSE now() END
     FROM generate_series(1, 10010) AS number`,
    [endpoint.id],
  );
  await dropOldDeliveries(database);
  expect(await database.execute("SELECT FROM event_delivery")).toBe(10_000);
});

test("a key that expires within a week is announced once for each date, if it was made for longer", async () => {
  const { database, accountId, call, add, watch, deliver } = await open();
  const receiver = await startReceiver(200);
  await add(receiver.url, ["key.expires_soon"]);
  const expires = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();
  for (const [name, days] of [
    ["soon", 3],
    ["later", 20],
    ["brief", 3],
  ] as const)
    await call("POST", "/api/v1/keys", { name, expires_at: expires(days) });
  await database.execute("UPDATE api_key SET created_at = now() - interval '30 days' WHERE account_id = $1 AND name <> 'brief'", [
    accountId,
  ]);
  for (let each = 0; each < 2; each++) await Promise.all([watch(), watch()]);
  await database.execute("UPDATE api_key SET expires_at = expires_at - interval '1 day' WHERE name = 'soon'");
  await watch();
  await deliver();
  expect(dataOf(receiver)).toMatchObject([{ key_name: "soon" }, { key_name: "soon" }]);
});

test("an earlier version and this one see the same webhook for the events of budgets (S47)", async () => {
  const { database, accountId, call, add, deliver } = await open();
  const receiver = await startReceiver(200);
  const single = () =>
    database.query({
      text: "SELECT url FROM webhook WHERE account_id = $1",
      values: [accountId],
      row: z.strictObject({ url: z.string() }),
    });
  // What this version does reaches the earlier one's table.
  const { endpoint } = await add("https://one.example/");
  await add("https://two.example/", ["key.created"]);
  expect(await single()).toEqual([{ url: "https://one.example/" }]);
  await call("PATCH", `/api/v1/webhooks/${endpoint.id}`, { url: "https://three.example/" });
  expect(await single()).toEqual([{ url: "https://three.example/" }]);
  await call("PATCH", `/api/v1/webhooks/${endpoint.id}`, { disabled: true });
  expect(await single()).toEqual([]);
  // What the earlier version does reaches this one's.
  const sealed = (
    await database.query({
      text: "SELECT sealed_secret AS sealed FROM webhook_endpoint WHERE id = $1",
      values: [endpoint.id],
      row: z.strictObject({ sealed: z.instanceof(Buffer) }),
    })
  )[0]?.sealed;
  await database.execute("INSERT INTO webhook (account_id, url, sealed_secret) VALUES ($1, $2, $3)", [
    accountId,
    "https://four.example/",
    sealed,
  ]);
  await database.execute("UPDATE webhook SET url = $2 WHERE account_id = $1", [accountId, receiver.url]);
  const urls = async () => (await listEndpoints(database, accountId)).map(({ url }) => url);
  expect(await urls()).toEqual(["https://three.example/", "https://two.example/", receiver.url]);
  expect((await call("GET", "/api/v1/webhook")).json().webhook.url).toBe(receiver.url);
  // What it left in its queue is sent from here.
  const body = JSON.stringify({ type: "budget.threshold_reached", data: {} });
  await database.execute(
    "INSERT INTO webhook_delivery (id, account_id, type, body) VALUES (uuidv7(), $1, 'budget.threshold_reached', $2)",
    [accountId, body],
  );
  await deliver();
  await deliver();
  expect(receiver.received.map((each) => each.body)).toEqual([body]);
  await database.execute("DELETE FROM webhook WHERE account_id = $1", [accountId]);
  expect(await urls()).toEqual(["https://three.example/", "https://two.example/"]);

  // The API of a single webhook.
  const set = (await call("PUT", "/api/v1/webhook", { url: receiver.url })).json();
  const changed = (await call("PUT", "/api/v1/webhook", { url: `${receiver.url}/2` })).json();
  expect(changed.secret).not.toBe(set.secret);
  expect(await urls()).toHaveLength(3);
  expect((await call("DELETE", "/api/v1/webhook")).statusCode).toBe(204);
  expect((await call("GET", "/api/v1/webhook")).json()).toEqual({ webhook: null });
  expect(await urls()).toHaveLength(2);
});

test("changes of an ApiKey resource to its key are events too", async () => {
  const { database, accountId, add, deliver } = await openWebhooks((await postgres.migrated()).database);
  const receiver = await startReceiver(200);
  await add(receiver.url);
  const key = resourceKey({ accountId });
  const { uid, publicId, settings } = key;
  for (let each = 0; each < 2; each++) await addResourceKey(database, key);
  for (const isDisabled of [true, true, false])
    await changeResourceKey(database, { ...key, settings: { ...settings, isDisabled } });
  const rotation = {
    uid,
    publicId,
    pepper: PEPPER,
    rotation: 1,
    previousUntil: null,
    secret: mintApiKey(randomBytes).secret,
  };
  for (let each = 0; each < 2; each++) await rotateResourceKey(database, rotation);
  for (let each = 0; each < 2; each++) await revokeResourceKey(database, uid);
  await deliver();
  expect(typesOf(receiver)).toEqual(["key.created", "key.disabled", "key.enabled", "key.rotated", "key.deleted"]);
  expect(dataOf(receiver)[0]).toEqual({
    account_id: accountId,
    key_id: publicId,
    key_name: "client",
    by_member_id: null,
    by_token_id: null,
  });
});

test("a member who leaves takes keys along: each is an event", async () => {
  const { database, accountId, owner, add, deliver, program, inAccount } = await openWebhooks(
    (await postgres.migrated()).database,
  );
  const receiver = await startReceiver(200);
  const [zoe, kim] = [await inAccount(accountId, "member"), await inAccount(accountId, "member")];
  for (const { personId } of [zoe, kim])
    await (await program(accountId, personId, "member")).call("POST", "/api/v1/keys", { name: `of ${personId}` });
  await add(receiver.url);
  await owner.post(`/dashboard/members/${zoe.personId}/remove`, { revoke: "yes" });
  const suspended = { accountId, personId: kim.personId, by: { personId: owner.personId, tokenId: null } };
  await database.transaction((transaction) => suspendMadeThingsIn(transaction, suspended));
  await deliver();
  expect(typesOf(receiver)).toEqual(["member.removed", "key.deleted", "key.disabled"]);
  expect(dataOf(receiver)).toMatchObject([
    { member_id: zoe.personId },
    { key_name: `of ${zoe.personId}`, by_member_id: owner.personId },
    { key_name: `of ${kim.personId}`, by_member_id: owner.personId },
  ]);
});

test("a model's shutdown is announced once for each date to the accounts that used it", async () => {
  const world = await openWebhooks((await postgres.migrated()).database);
  const { database, other, keyId, accountId, add, watch, deliver } = world;
  const [user, stranger] = [await startReceiver(200), await startReceiver(200)];
  await add(user.url, ["model.shutdown_announced"]);
  await add(stranger.url, ["model.shutdown_announced"], other.accountId);
  const inDays = (days: number) => Math.floor(Date.now() / 1000) + days * 86_400;
  const publish = (sunsetSeconds: number) =>
    publishModels(database, [
      { model: catalogueModel("ending", { deprecation: { sunsetSeconds } }), price: PRICE },
      { model: catalogueModel("ended", { deprecation: { sunsetSeconds: inDays(-1) } }), price: PRICE },
      { model: catalogueModel("unused", { deprecation: { sunsetSeconds } }), price: PRICE },
      { model: catalogueModel("staying"), price: PRICE },
    ]);
  const [first, second] = [inDays(30), inDays(60)];
  await publish(first);
  for (const model of ["ending", "ended", "staying"]) await settle(database, [settlementOf({ accountId, keyId }, { model })]);
  for (let each = 0; each < 2; each++) await Promise.all([watch(), watch()]);
  await publish(second);
  for (let each = 0; each < 2; each++) await watch();
  await deliver();
  expect(dataOf(user)).toEqual(
    [first, second].map((seconds) => ({
      account_id: accountId,
      model: "ending",
      shutdown_at: new Date(seconds * 1000).toISOString(),
    })),
  );
  expect(stranger.received).toEqual([]);
});
