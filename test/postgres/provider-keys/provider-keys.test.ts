import { expect, test } from "vitest";
import * as z from "zod";
import { setAccountStatus } from "../../../ledger/accounts/accounts.ts";
import { closeAccount } from "../../../ledger/accounts/close-account.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import { monthOf } from "../../../ledger/billing/month.ts";
import { readAccountPage } from "../../../ledger/feed/pages.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { aboutProviderKey, publishSealing, readSealing } from "../../../ledger/provider-keys/sealing.ts";
import { listProviderKeys, setProviderKey } from "../../../ledger/provider-keys/provider-keys.ts";
import { noteServed, readSealedKeys } from "../../../ledger/provider-keys/served-keys.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { readServiceFigures } from "../../../ledger/usage/service-figures.ts";
import { createProviderKeys } from "../../../operator/provider-keys/provider-keys.ts";
import { dayOf } from "../../../contract/days.ts";
import { fingerprintsOf } from "../../../runtime/credential-fingerprint.ts";
import { boxKey, sealTo } from "../../../runtime/sealed-box.ts";
import { openDashboard, type TestDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Accounts' own keys for providers, from the dashboard to the operator (S59). */
const postgres = usePostgres();
const VALUE = "px-own-Zk3v9QmT7wLr2YbN";
const ORIGIN = "https://api.example.com";
const OLD = boxKey(Buffer.alloc(32, 1));
const NEW = boxKey(Buffer.alloc(32, 2));
const FEE = { requestPicoUsd: 100_000_000n, millionths: 100_000n };

async function open({ maxClusters = 10 } = {}) {
  const { database } = await postgres.migrated();
  await publishOffer(database, [{ origin: ORIGIN, endpoint: "e1" }]);
  await publishSealing(database, { keyId: OLD.id, publicKey: OLD.publicKey, maxClusters }, PEPPER);
  const dashboard = await openDashboard(database);
  return { database, dashboard, ann: await ownerWithCredit(dashboard, "ann@example.com") };
}

async function ownerWithCredit({ database, owner }: TestDashboard, email: string) {
  const signedIn = await owner(email);
  const { accountId } = signedIn;
  await postCredit(database, { accountId, kind: "grant", amountNanoUsd: 1n, reference: `grant of ${accountId}` });
  return signedIn;
}

async function publishOffer(
  database: Database,
  servers: readonly { provider?: string; origin: string; endpoint: string }[],
): Promise<void> {
  const model = catalogueModel("modelx-v4-pro");
  const [backend] = model.backends;
  if (backend === undefined) throw new Error("a model has a backend");
  const backends = servers.map((server, index) => ({
    ...backend,
    name: `b${index}`,
    providerKey: { provider: "example", ...server },
  }));
  await publishModels(database, [{ model: { ...model, backends }, price: PRICE, providerKeyFee: FEE }]);
}

function operatorOf(database: Database, boxKeys: readonly (typeof OLD)[]) {
  return createProviderKeys({
    config: { boxKeys, maxClusters: 10 },
    database,
    pepper: PEPPER,
    events: {
      providerKeysUnreadable: ({ error }) => {
        throw error;
      },
      providerKeysReadable: () => {},
      providerKeysServed: () => {},
    },
    isLeader: () => true,
    onChange: () => {},
  });
}

async function program(
  { program: create, client }: TestDashboard,
  { accountId, personId }: { accountId: string; personId: string },
) {
  return client({ authorization: `Bearer ${(await create(accountId, personId, "owner")).token}` });
}

const PATH = "/api/v1/provider-keys/example";

test("a key is entered, replaced and deleted in the dashboard and by the API, and its value never shown (S59)", async () => {
  const { database, dashboard, ann } = await open();
  const api = await program(dashboard, ann);
  const offers = await api.get("/api/v1/provider-offers");
  expect(offers.json()).toEqual({
    data: [
      {
        provider: "example",
        origin: ORIGIN,
        models: [{ name: "modelx-v4-pro", fee: { per_request: "0.0001", percent: "10" } }],
      },
    ],
  });
  const entered = await ann.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: VALUE });
  expect(entered.statusCode).toBe(303);
  const read = await api.get(PATH);
  expect(read.json()).toMatchObject({ provider: "example", origin: ORIGIN, masked_key: "****2YbN", state: "pending" });
  const replaced = await api.call("PUT", PATH, { key: "px-own-replaced-1234" });
  expect(replaced.json()).toMatchObject({ masked_key: "****1234", state: "pending", replaced_at: expect.any(String) });
  const page = (await ann.get("/dashboard/provider-keys")).body;
  for (const words of ["••••1234", "Pending", "$0.0001 per request + 10% of the price", ORIGIN]) expect(page).toContain(words);
  const log = (await ann.get("/dashboard/settings")).body;
  expect(log).not.toContain("px-own");
  expect(await dump(database)).not.toContain("px-own");
  expect((await api.call("DELETE", PATH)).statusCode).toBe(204);
  expect((await api.get(PATH)).statusCode).toBe(404);
  expect(await actions(database)).toEqual([
    `provider_key.entered example (${ORIGIN})`,
    `provider_key.replaced example (${ORIGIN})`,
    `provider_key.deleted example (${ORIGIN})`,
  ]);
});

test.for([
  { key: "short", says: "8 to 2048 characters" },
  { key: "px own with spaces", says: "no spaces" },
  { key: `px-${"x".repeat(3_000)}`, says: "8 to 2048 characters" },
])("what is no key is refused without being repeated: $says", async ({ key, says }) => {
  const { database, dashboard, ann } = await open();
  const api = await program(dashboard, ann);
  const refused = await api.call("PUT", PATH, { key });
  expect(refused.statusCode).toBe(400);
  expect(refused.body).toContain(says);
  const form = await ann.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: key });
  expect(form.statusCode).toBe(400);
  for (const { body } of [refused, form]) expect(body).not.toContain(key);
  expect(await listProviderKeys(database, ann.accountId)).toEqual([]);
});

test("a key is taken only for a server that a Model names, with room for it, and while operators take keys", async () => {
  const { database, dashboard, ann } = await open({ maxClusters: 1 });
  const api = await program(dashboard, ann);
  const enter = (body: Record<string, unknown>, path = PATH) => api.call("PUT", path, body);
  expect((await enter({ key: VALUE, origin: "https://evil.example" })).body).toContain("No model accepts a key");
  expect((await enter({ key: VALUE }, "/api/v1/provider-keys/other")).body).toContain("No model accepts a key");
  await publishOffer(database, [
    { origin: ORIGIN, endpoint: "e1" },
    { origin: ORIGIN, endpoint: "e2" },
  ]);
  expect((await enter({ key: VALUE })).body).toContain("no capacity for another provider key");
  await publishOffer(database, [
    { origin: ORIGIN, endpoint: "e1" },
    { origin: "https://other.example.com", endpoint: "e2" },
  ]);
  expect((await enter({ key: VALUE })).body).toContain("send origin");
  expect((await enter({ key: VALUE, origin: ORIGIN })).statusCode).toBe(200);
  const eve = await program(dashboard, await ownerWithCredit(dashboard, "eve@example.com"));
  expect((await eve.call("PUT", PATH, { key: VALUE, origin: ORIGIN })).body).toContain("no capacity for another provider key");

  await publishSealing(database, null, PEPPER);
  expect((await enter({ key: VALUE, origin: ORIGIN })).body).toContain("does not accept provider keys");
});

test("an account without credit enters no key, and replaces and deletes the one that it has (S59)", async () => {
  const { database, dashboard, ann } = await open({ maxClusters: 1 });
  const eve = await dashboard.owner("eve@example.com");
  const api = await program(dashboard, eve);
  const refused = await api.call("PUT", PATH, { key: VALUE });
  expect({ status: refused.statusCode, body: refused.body }).toEqual({ status: 402, body: expect.stringContaining("no credit") });
  const form = await eve.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: VALUE });
  expect({ status: form.statusCode, body: form.body }).toEqual({
    status: 400,
    body: expect.stringContaining("Add credit first"),
  });
  await enterFor(database, ann.accountId);
  await database.execute("UPDATE account_balance SET posted_nano_usd = -5 WHERE account_id = $1", [ann.accountId]);
  await enterFor(database, ann.accountId, "px-own-second-1");
  expect((await ann.post("/dashboard/provider-keys/example/delete", {})).statusCode).toBe(303);
  await database.execute("UPDATE account_balance SET overdraft_nano_usd = 6 WHERE account_id = $1", [ann.accountId]);
  await enterFor(database, ann.accountId);
});

test("beyond its first key, an account takes no more of the room than it leaves to others (S59)", async () => {
  const { database, dashboard, ann } = await open({ maxClusters: 4 });
  const providers = ["p1", "p2", "p3"].map((provider) => ({ provider, origin: ORIGIN, endpoint: provider }));
  await publishOffer(database, providers);
  const enter = (accountId: string, provider: string) => {
    const actor = { accountId, personId: null, tokenId: null };
    return setProviderKey(database, actor, { provider, origin: ORIGIN, value: VALUE, pepper: PEPPER });
  };
  await enter(ann.accountId, "p1");
  await enter(ann.accountId, "p2");
  await expect(enter(ann.accountId, "p3")).rejects.toThrow("is reserved for other accounts");
  for (const name of ["bob", "eve"]) {
    const { accountId } = await ownerWithCredit(dashboard, `${name}@example.com`);
    await enter(accountId, "p1");
    await expect(enter(accountId, "p2")).rejects.toThrow(/reserved for other accounts|no capacity/);
  }
});

test("an owner allows fallback from a key, and ends it, and extproc's feed says so (S59)", async () => {
  const { database, dashboard, ann } = await open();
  await enterFor(database, ann.accountId);
  const api = await program(dashboard, ann);
  const ofAnn = async () => {
    const { accounts } = await readAccountPage(database, { afterId: "" });
    return accounts.find(({ accountId }) => accountId === ann.accountId)?.providerKeys;
  };
  expect((await api.get(PATH)).json()).toMatchObject({ fallback: false });
  expect((await api.call("PATCH", PATH, { fallback: true })).json()).toMatchObject({ fallback: true, state: "pending" });
  expect(await ofAnn()).toMatchObject([{ fallsBack: true }]);
  expect((await ann.get("/dashboard/provider-keys")).body).toContain("Model&#39;s price");
  // Whatever becomes of the key.
  await database.execute("UPDATE provider_key SET state = 'unusable'");
  await enterFor(database, ann.accountId, "px-own-second-1");
  expect(await ofAnn()).toMatchObject([{ fallsBack: true, state: "pending" }]);
  const ended = await ann.post("/dashboard/provider-keys/example/fallback", { fallback: "off" });
  expect([ended.statusCode, await ofAnn()]).toEqual([303, [expect.not.objectContaining({ fallsBack: true })]]);
  expect((await ann.get("/dashboard/provider-keys")).body).toContain("Requests refused");
  expect((await api.call("PATCH", "/api/v1/provider-keys/other", { fallback: true })).statusCode).toBe(404);
  expect(await actions(database)).toEqual([
    `provider_key.entered example (${ORIGIN})`,
    `provider_key.fallback_allowed example (${ORIGIN})`,
    `provider_key.entered example (${ORIGIN})`,
    `provider_key.fallback_ended example (${ORIGIN})`,
  ]);
});

test("a key that is entered again in place of one that cannot be used has other clusters (S59)", async () => {
  const { database, ann } = await open();
  await enterFor(database, ann.accountId);
  const [rejected] = await readSealedKeys(database);
  if (rejected === undefined) throw new Error("there is a key");
  await noteServed(database, [{ ...rejected, state: "unusable", fingerprints: [] }]);
  await enterFor(database, ann.accountId, "px-own-second-1");
  const keys = await readSealedKeys(database);
  expect(keys).toHaveLength(1);
  expect(keys[0]?.id).not.toBe(rejected.id);
  expect(await listProviderKeys(database, ann.accountId)).toMatchObject([{ state: "pending", lastFour: "nd-1" }]);
});

test("a public key that no operator has proven is not used: whoever can write the database cannot read new keys (S59)", async () => {
  const { database, ann } = await open();
  await database.execute("UPDATE provider_key_sealing SET public_key = $1", [NEW.publicKey]);
  expect(await readSealing(database, PEPPER)).toBeUndefined();
  const answer = await ann.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: VALUE });
  expect(answer.body).toContain("does not accept provider keys");
  expect(await dump(database)).not.toContain(VALUE);
});

async function enterFor(database: Database, accountId: string, value = VALUE): Promise<void> {
  const actor = { accountId, personId: null, tokenId: null };
  await setProviderKey(database, actor, { provider: "example", origin: ORIGIN, value, pepper: PEPPER });
}

test("the operator opens what was sealed to any of its keys, and seals it anew to the first (S59)", async () => {
  const { database, ann } = await open();
  await enterFor(database, ann.accountId);
  const operator = operatorOf(database, [NEW, OLD]);
  expect(await operator.read()).toMatchObject([{ provider: "example", value: VALUE }]);
  expect(await readSealedKeys(database)).toMatchObject([{ sealingKeyId: NEW.id, version: 1 }]);
  await operator.stop();
  const later = operatorOf(database, [NEW]);
  expect(await later.read()).toMatchObject([{ value: VALUE }]);
  await later.stop();
  const without = operatorOf(database, [OLD]);
  expect(await without.read()).toMatchObject([{ value: null }]);
  await without.stop();
});

test("a sealed value that was moved to another account, provider or server does not open", async () => {
  const { database, dashboard, ann } = await open();
  const eve = await dashboard.owner("eve@example.com");
  const operator = operatorOf(database, [OLD]);
  for (const change of [
    `account_id = '${eve.accountId}'`,
    "provider = 'other'",
    "origin = 'https://evil.example'",
    "sealed = set_byte(sealed, 60, get_byte(sealed, 60) # 1)",
  ]) {
    await enterFor(database, ann.accountId);
    await database.execute(`UPDATE provider_key SET ${change}`);
    expect(await operator.read(), change).toMatchObject([{ value: null }]);
    await database.execute("DELETE FROM provider_key");
  }
  await operator.stop();
});

test("extproc's feed says what requests need to know, in the transaction that changes it, and nothing else", async () => {
  const { database, ann } = await open();
  const ofAnn = async () =>
    (await readAccountPage(database, { afterId: "" })).accounts.find(({ accountId }) => accountId === ann.accountId)
      ?.providerKeys;
  expect(await ofAnn()).toBeUndefined();
  await enterFor(database, ann.accountId);
  const [sealed] = await readSealedKeys(database);
  if (sealed === undefined) throw new Error("there is a key");
  const key = { id: sealed.id, provider: "example", origin: ORIGIN };
  expect(await ofAnn()).toEqual([{ ...key, state: "pending", fingerprints: fingerprintsOf(VALUE, PEPPER) }]);
  const fingerprints = [{ length: 8, hash: "h" }];
  const served = { id: sealed.id, accountId: ann.accountId, version: 1, state: "active", fingerprints } as const;
  await noteServed(database, [served]);
  expect(await ofAnn()).toEqual([{ ...key, state: "active", fingerprints }]);

  // Envoy has only the value before, which is used until it has the new one.
  await enterFor(database, ann.accountId, "px-own-second-1");
  const known = fingerprintsOf("px-own-second-1", PEPPER);
  expect(await ofAnn()).toMatchObject([{ id: sealed.id, state: "active", fingerprints: known }]);
  expect(await listProviderKeys(database, ann.accountId)).toMatchObject([{ state: "pending" }]);
  await noteServed(database, [{ ...served, state: "unusable" }]);
  expect(await ofAnn()).toMatchObject([{ state: "active" }]);
  await noteServed(database, [{ ...served, version: 2 }]);
  expect(await listProviderKeys(database, ann.accountId)).toMatchObject([{ state: "active" }]);
});

test("closing an account deletes its keys (S59)", async () => {
  const { database, ann } = await open();
  await enterFor(database, ann.accountId);
  await closeAccount(database, ann);
  expect(await readSealedKeys(database)).toEqual([]);
  const { accounts } = await readAccountPage(database, { afterId: "" });
  expect(accounts.find(({ accountId }) => accountId === ann.accountId)?.providerKeys).toBeUndefined();
});

test("a suspended account's keys take no room, and it enters none (S59)", async () => {
  const { database, dashboard, ann } = await open({ maxClusters: 1 });
  await enterFor(database, ann.accountId);
  await setAccountStatus(database, ann.accountId, "suspended");
  expect(await readSealedKeys(database)).toEqual([]);
  await expect(enterFor(database, ann.accountId, "px-own-second-1")).rejects.toThrow("suspended or closed");
  const eve = await ownerWithCredit(dashboard, "eve@example.com");
  await enterFor(database, eve.accountId);
  await setAccountStatus(database, ann.accountId, "active");
  expect((await readSealedKeys(database)).map(({ accountId }) => accountId)).toEqual([ann.accountId, eve.accountId]);
});

test("whoever can only write the database cannot seal a key of their own to an account (S59)", async () => {
  const { database, ann } = await open();
  await enterFor(database, ann.accountId);
  const [key] = await readSealedKeys(database);
  if (key === undefined) throw new Error("there is a key");
  const planted = sealTo(OLD.publicKey, "px-eves-own-key", aboutProviderKey(key, Buffer.alloc(32, 9)));
  await database.execute("UPDATE provider_key SET sealed = $1, version = 2", [planted]);
  const operator = operatorOf(database, [OLD]);
  expect(await operator.read()).toMatchObject([{ value: null }]);
  await operator.stop();
});

test("a key of many long words has few fingerprints", async () => {
  const { database, ann } = await open();
  const words = Array.from({ length: 60 }, (_, each) => `word${each}`.padEnd(16 + (each % 10), "x"));
  await enterFor(database, ann.accountId, words.join("-"));
  const operator = operatorOf(database, [OLD]);
  const [opened] = await operator.read();
  expect(opened?.fingerprints).toHaveLength(16);
  await operator.stop();
});

test("an account enters keys at most so many times in a day, and can always delete them", async () => {
  const { database, dashboard, ann } = await open();
  await enterFor(database, ann.accountId);
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, action, subject) SELECT uuidv7(), $1, 'provider_key.replaced', 'x' FROM generate_series(1, 200)",
    [ann.accountId],
  );
  const api = await program(dashboard, ann);
  expect((await api.call("PUT", PATH, { key: VALUE })).statusCode).toBe(429);
  expect((await api.call("DELETE", PATH)).statusCode).toBe(204);
});

test("requests with own keys and their fees are in usage, files, statements and the service's margin (S59)", async () => {
  const { database, dashboard, ann } = await open();
  await publishModels(database, [
    {
      model: catalogueModel("modelx-v4-pro"),
      price: PRICE,
      providerKeyFee: FEE,
      cost: { ...PRICE, inputPicoUsd: 1_000_000n, outputPicoUsd: 0n },
    },
  ]);
  const { publicId: keyId } = await createApiKey(database, { accountId: ann.accountId, name: "main", pepper: PEPPER });
  const customer = { accountId: ann.accountId, keyId };
  const own = settlementOf(customer, { providerKey: "example", chargeNanoUsd: 7_000_000n });
  const others = settlementOf(customer, { chargeNanoUsd: 90_000_000n });
  await settle(database, [own, others]);
  await settle(database, [own]);
  const labelled = { ...settlementOf(customer, { providerKey: "example", chargeNanoUsd: 1_000_000n }), labels: [] };
  await settle(database, [labelled]);

  const month = monthOf(Date.now());
  const statement = await readStatement(database, { accountId: ann.accountId, month });
  expect(statement.providerKeys).toEqual([{ provider: "example", requests: 2, chargeNanoUsd: 8_000_000n }]);
  expect(statement.usageTotal.chargeNanoUsd).toBe(98_000_000n);
  const api = await program(dashboard, ann);
  expect((await api.get(`/api/v1/billing/statements/${month}`)).json()).toMatchObject({
    own_keys: [{ provider: "example", requests: 2, amount: "0.008000000" }],
  });
  expect((await api.get("/api/v1/usage/requests")).body).toContain('"own_key_provider":"example"');
  expect((await ann.get("/dashboard/usage")).body).toContain("2 with your own key for example");
  expect((await ann.get("/dashboard/usage/requests")).body).toContain("own key");
  const page = (await ann.get(`/dashboard/usage/requests/${own.requestId}`)).body;
  expect(page).toContain("Your own key for example");
  expect(page).toContain("$0.0001 per request + 10% of the price");
  expect((await ann.get("/dashboard/usage/csv/requests")).body).toContain(",0.007000000,example");

  const day = dayOf(Date.now());
  const figures = await readServiceFigures(database, { fromDay: day, toDay: day });
  // 100 tokens of one request, at 1 µUSD each.
  expect(figures.models).toMatchObject([{ requests: 3, margin: { chargeNanoUsd: 98_000_000n, costNanoUsd: 100_000n } }]);
});

const textRow = z.strictObject({ text: z.string() });

async function dump(database: Database): Promise<string> {
  const rows = await database.query({
    text: `SELECT provider_key::text || account::text AS text FROM provider_key JOIN account ON account.id = account_id
           UNION ALL SELECT audit_entry::text FROM audit_entry`,
    row: textRow,
  });
  return rows.map(({ text }) => text).join("\n");
}

async function actions(database: Database): Promise<string[]> {
  const rows = await database.query({
    text: "SELECT action || ' ' || subject AS text FROM audit_entry WHERE action LIKE 'provider%' ORDER BY id",
    row: textRow,
  });
  return rows.map(({ text }) => text);
}
