import { expect, test } from "vitest";
import * as z from "zod";
import { setAccountStatus } from "../../../ledger/accounts/accounts.ts";
import { closeAccount } from "../../../ledger/accounts/close-account.ts";
import { readStatement } from "../../../ledger/billing/statement.ts";
import { monthOf } from "../../../ledger/billing/month.ts";
import { readAccountPage } from "../../../ledger/feed/pages.ts";
import { createApiKey } from "../../../ledger/keys/keys.ts";
import { publishModels } from "../../../ledger/models/catalogue.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { publishSealing } from "../../../ledger/provider-keys/sealing.ts";
import { listProviderKeys, setProviderKey } from "../../../ledger/provider-keys/provider-keys.ts";
import { readSealedKeys } from "../../../ledger/provider-keys/served-keys.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { readServiceFigures } from "../../../ledger/usage/service-figures.ts";
import { dayOf } from "../../../contract/days.ts";
import { type TestDashboard } from "../../support/dashboard/dashboard.ts";
import { catalogueModel, PEPPER, PRICE, settlementOf } from "../../support/billing/ledger.ts";
import {
  dumpProviderKeys,
  enterProviderKey,
  FEE,
  openWithOffer,
  ORIGIN,
  ownerWithCredit,
  PROVIDER_KEY,
  publishOffer,
} from "../../support/dashboard/provider-keys.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** Accounts' own keys for providers, in the dashboard, by the API and in the books (S59). */
const postgres = usePostgres();

async function program(
  { program: create, client }: TestDashboard,
  { accountId, personId }: { accountId: string; personId: string },
) {
  return client({ authorization: `Bearer ${(await create(accountId, personId, "owner")).token}` });
}

const PATH = "/api/v1/provider-keys/example";

test("a key is entered, replaced and deleted in the dashboard and by the API, and its value never shown (S59)", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres);
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
  const entered = await ann.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: PROVIDER_KEY });
  expect(entered.statusCode).toBe(303);
  const read = await api.get(PATH);
  expect(read.json()).toMatchObject({ provider: "example", origin: ORIGIN, masked_key: "****2YbN", state: "pending" });
  const replaced = await api.call("PUT", PATH, { key: "px-own-replaced-1234" });
  expect(replaced.json()).toMatchObject({ masked_key: "****1234", state: "pending", replaced_at: expect.any(String) });
  const page = (await ann.get("/dashboard/provider-keys")).body;
  for (const words of ["••••1234", "Pending", "$0.0001 per request + 10% of the price", ORIGIN]) expect(page).toContain(words);
  const log = (await ann.get("/dashboard/settings")).body;
  expect(log).not.toContain("px-own");
  expect(await dumpProviderKeys(database)).not.toContain("px-own");
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
  const { database, dashboard, ann } = await openWithOffer(postgres);
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
  const { database, dashboard, ann } = await openWithOffer(postgres, { maxClusters: 1 });
  const api = await program(dashboard, ann);
  const enter = (body: Record<string, unknown>, path = PATH) => api.call("PUT", path, body);
  expect((await enter({ key: PROVIDER_KEY, origin: "https://evil.example" })).body).toContain("No model accepts a key");
  expect((await enter({ key: PROVIDER_KEY }, "/api/v1/provider-keys/other")).body).toContain("No model accepts a key");
  await publishOffer(database, [
    { origin: ORIGIN, endpoint: "e1" },
    { origin: ORIGIN, endpoint: "e2" },
  ]);
  expect((await enter({ key: PROVIDER_KEY })).body).toContain("no capacity for another provider key");
  await publishOffer(database, [
    { origin: ORIGIN, endpoint: "e1" },
    { origin: "https://other.example.com", endpoint: "e2" },
  ]);
  expect((await enter({ key: PROVIDER_KEY })).body).toContain("send origin");
  expect((await enter({ key: PROVIDER_KEY, origin: ORIGIN })).statusCode).toBe(200);
  const eve = await program(dashboard, await ownerWithCredit(dashboard, "eve@example.com"));
  expect((await eve.call("PUT", PATH, { key: PROVIDER_KEY, origin: ORIGIN })).body).toContain(
    "no capacity for another provider key",
  );

  await publishSealing(database, null, PEPPER);
  expect((await enter({ key: PROVIDER_KEY, origin: ORIGIN })).body).toContain("does not accept provider keys");
});

test("an account without credit enters no key, and replaces and deletes the one that it has (S59)", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres, { maxClusters: 1 });
  const eve = await dashboard.owner("eve@example.com");
  const api = await program(dashboard, eve);
  const refused = await api.call("PUT", PATH, { key: PROVIDER_KEY });
  expect({ status: refused.statusCode, body: refused.body }).toEqual({ status: 402, body: expect.stringContaining("no credit") });
  const form = await eve.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: PROVIDER_KEY });
  expect({ status: form.statusCode, body: form.body }).toEqual({
    status: 400,
    body: expect.stringContaining("Add credit first"),
  });
  await enterProviderKey(database, ann.accountId);
  await database.execute("UPDATE account_balance SET posted_nano_usd = -5 WHERE account_id = $1", [ann.accountId]);
  await enterProviderKey(database, ann.accountId, "px-own-second-1");
  expect((await ann.post("/dashboard/provider-keys/example/delete", {})).statusCode).toBe(303);
  await database.execute("UPDATE account_balance SET overdraft_nano_usd = 6 WHERE account_id = $1", [ann.accountId]);
  await enterProviderKey(database, ann.accountId);
});

test("beyond its first key, an account takes no more of the room than it leaves to others (S59)", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres, { maxClusters: 4 });
  const providers = ["p1", "p2", "p3"].map((provider) => ({ provider, origin: ORIGIN, endpoint: provider }));
  await publishOffer(database, providers);
  const enter = (accountId: string, provider: string) => {
    const actor = { accountId, personId: null, tokenId: null };
    return setProviderKey(database, actor, { provider, origin: ORIGIN, value: PROVIDER_KEY, pepper: PEPPER });
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
  const { database, dashboard, ann } = await openWithOffer(postgres);
  await enterProviderKey(database, ann.accountId);
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
  await enterProviderKey(database, ann.accountId, "px-own-second-1");
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

test("closing an account deletes its keys (S59)", async () => {
  const { database, ann } = await openWithOffer(postgres);
  await enterProviderKey(database, ann.accountId);
  await closeAccount(database, ann);
  expect(await readSealedKeys(database)).toEqual([]);
  const { accounts } = await readAccountPage(database, { afterId: "" });
  expect(accounts.find(({ accountId }) => accountId === ann.accountId)?.providerKeys).toBeUndefined();
});

test("a suspended account's keys take no room, and it enters none (S59)", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres, { maxClusters: 1 });
  await enterProviderKey(database, ann.accountId);
  await setAccountStatus(database, ann.accountId, "suspended");
  expect(await readSealedKeys(database)).toEqual([]);
  await expect(enterProviderKey(database, ann.accountId, "px-own-second-1")).rejects.toThrow("suspended or closed");
  const eve = await ownerWithCredit(dashboard, "eve@example.com");
  await enterProviderKey(database, eve.accountId);
  await setAccountStatus(database, ann.accountId, "active");
  expect((await readSealedKeys(database)).map(({ accountId }) => accountId)).toEqual([ann.accountId, eve.accountId]);
});

test("an account enters keys at most so many times in a day, and can always delete them", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres);
  await enterProviderKey(database, ann.accountId);
  await database.execute(
    "INSERT INTO audit_entry (id, account_id, action, subject) SELECT uuidv7(), $1, 'provider_key.replaced', 'x' FROM generate_series(1, 200)",
    [ann.accountId],
  );
  const api = await program(dashboard, ann);
  expect((await api.call("PUT", PATH, { key: PROVIDER_KEY })).statusCode).toBe(429);
  expect((await api.call("DELETE", PATH)).statusCode).toBe(204);
});

test("requests with own keys and their fees are in usage, files, statements and the service's margin (S59)", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres);
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

async function actions(database: Database): Promise<string[]> {
  const rows = await database.query({
    text: "SELECT action || ' ' || subject AS text FROM audit_entry WHERE action LIKE 'provider%' ORDER BY id",
    row: z.strictObject({ text: z.string() }),
  });
  return rows.map(({ text }) => text);
}
