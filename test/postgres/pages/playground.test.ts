import { expect, test } from "vitest";
import * as z from "zod";
import { ACCOUNT_BOUNDS } from "../../../contract/account-bounds.ts";
import { createApiKey, isKeyInForce } from "../../../ledger/keys/keys.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import { changeRole, removeMember } from "../../../ledger/people/members.ts";
import { listActions } from "../../../ledger/people/audit.ts";
import { openDashboard, type SignedIn } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE } from "../../support/billing/ledger.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

const postgres = usePostgres();
const PATH = "/dashboard/playground/key";
const HOUR_MS = 3_600_000;
const issued = z.strictObject({ value: z.string(), expires_at: z.iso.datetime() });
const refused = z.strictObject({ problem: z.string() });

async function ask(client: SignedIn) {
  const answer = await client.post(PATH);
  expect(answer.statusCode, answer.body).toBe(200);
  const { value, expires_at: expiresAt } = issued.parse(answer.json());
  return { value, expiresAt: Date.parse(expiresAt), publicId: value.slice(6, 18) };
}

test("the playground gets a key for an hour for each member, always the same one with a new value (S24)", async () => {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const bob = await dashboard.inAccount(ann.accountId, "member");
  const [first, other] = [await ask(ann), await ask(bob)];
  const second = await ask(ann);

  expect(second.publicId).toBe(first.publicId);
  expect(second.value).not.toBe(first.value);
  expect(other.publicId).not.toBe(first.publicId);
  expect(second.expiresAt).toBeLessThanOrEqual(Date.now() + HOUR_MS);
  // Another tab still has the first one.
  for (const { value } of [first, second, other]) expect(await isKeyInForce(database, { value, pepper: PEPPER })).toBe(true);
  expect(await listAllKeys(database, { accountId: ann.accountId, publicId: first.publicId })).toMatchObject([
    { name: "Playground (ann)", isPlayground: true, expiresAt: new Date(second.expiresAt) },
  ]);
  const actions = await listActions(database, { accountId: ann.accountId, limit: 10 });
  expect(actions.filter(({ subject }) => subject === first.publicId).map(({ by, action }) => [by, action])).toEqual([
    ["ann@example.com", "key.rotated"],
    ["ann@example.com", "key.created"],
  ]);
  expect(dashboard.logged()).not.toContain(second.value.slice(18));
});

test("the playground's page says whose key a member's requests use, and who pays", async () => {
  const { database } = await postgres.migrated();
  await publishModels(database, [{ model: catalogueModel("modelx-v4-pro"), price: PRICE }]);
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const bob = await dashboard.inAccount(ann.accountId, "member");
  const { body } = await bob.get("/dashboard/playground");
  expect(body.replaceAll(/\s+/g, " ")).toContain("Requests use a temporary API key of yours, and this account pays for them.");
});

test("a playground key ends when its member is removed or becomes a viewer", async () => {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const { accountId } = ann;
  const [bob, cat] = [await dashboard.inAccount(accountId, "member"), await dashboard.inAccount(accountId, "member")];
  const values = [(await ask(bob)).value, (await ask(cat)).value];
  await database.transaction((transaction) => removeMember(transaction, { accountId, personId: bob.personId }));
  await database.transaction((transaction) => changeRole(transaction, { accountId, personId: cat.personId, role: "viewer" }));
  for (const value of values) expect(await isKeyInForce(database, { value, pepper: PEPPER })).toBe(false);
  expect((await cat.post(PATH)).statusCode).toBe(403);
});

test("a value of a playground key that has ended does not work again when its member gets another", async () => {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const first = await ask(ann);
  await database.execute("UPDATE api_key SET expires_at = now() - interval '1 second' WHERE public_id = $1", [first.publicId]);
  const second = await ask(ann);
  const inForce = [first, second].map(({ value }) => isKeyInForce(database, { value, pepper: PEPPER }));
  expect(await Promise.all(inForce)).toEqual([false, true]);
});

test("disabling a playground key keeps its member out of the playground, and saving it keeps its expiry", async () => {
  const { database } = await postgres.migrated();
  const dashboard = await openDashboard(database);
  const ann = await dashboard.owner("ann@example.com");
  const { publicId, value, expiresAt } = await ask(ann);
  await ann.post(`/dashboard/keys/${publicId}`, { name: "limited", spendPerDayUsd: "1.00", expires: "2999-01-01" });
  expect(await listAllKeys(database, { accountId: ann.accountId, publicId })).toMatchObject([
    { name: "limited", limits: { spendPerDayUsd: "1.00" }, expiresAt: new Date(expiresAt) },
  ]);
  await ann.post(`/dashboard/keys/${publicId}/disable`);
  expect(await isKeyInForce(database, { value, pepper: PEPPER })).toBe(false);
  const answer = await ann.post(PATH);
  expect(answer.statusCode).toBe(403);
  expect(refused.parse(answer.json()).problem).toContain("Your playground key is disabled.");
});

test("after a playground key is deleted, the next use of the page creates another", async () => {
  const { database } = await postgres.migrated();
  const ann = await (await openDashboard(database)).owner("ann@example.com");
  const first = await ask(ann);
  await ann.post(`/dashboard/keys/${first.publicId}/delete`);
  const second = await ask(ann);
  expect(second.publicId).not.toBe(first.publicId);
  expect(await isKeyInForce(database, { value: first.value, pepper: PEPPER })).toBe(false);
});

test("an account with the maximum number of keys gets an error in the playground, and a foreign page gets no key", async () => {
  const { database } = await postgres.migrated();
  const ann = await (await openDashboard(database)).owner("ann@example.com");
  expect((await ann.post(PATH, {}, { origin: "https://elsewhere.example" })).statusCode).toBe(403);
  for (let made = 0; made < ACCOUNT_BOUNDS.keys; made++)
    await createApiKey(database, { accountId: ann.accountId, name: `key ${made}`, pepper: PEPPER });
  const answer = await ann.post(PATH);
  expect(answer.statusCode).toBe(400);
  expect(refused.parse(answer.json()).problem).toContain(`at most ${ACCOUNT_BOUNDS.keys} keys`);
});
