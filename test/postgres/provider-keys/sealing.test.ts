import { expect, test } from "vitest";
import { readAccountPage } from "../../../ledger/feed/pages.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { aboutProviderKey, readSealing } from "../../../ledger/provider-keys/sealing.ts";
import { listProviderKeys } from "../../../ledger/provider-keys/provider-keys.ts";
import { noteServed, readSealedKeys } from "../../../ledger/provider-keys/served-keys.ts";
import { createProviderKeys } from "../../../operator/provider-keys/provider-keys.ts";
import { fingerprintsOf } from "../../../runtime/credential-fingerprint.ts";
import { boxKey, sealTo } from "../../../runtime/sealed-box.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import {
  BOX_KEY,
  dumpProviderKeys,
  enterProviderKey,
  openWithOffer,
  ORIGIN,
  PROVIDER_KEY,
} from "../../support/dashboard/provider-keys.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** How an account's own key for a provider gets from the dashboard to the operator, which alone can open it (S59). */
const postgres = usePostgres();
/** Of an operator's next key. */
const NEXT_BOX_KEY = boxKey(Buffer.alloc(32, 2));

function operatorOf(database: Database, boxKeys: readonly (typeof BOX_KEY)[]) {
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

test("a public key that no operator has proven is not used: whoever can write the database cannot read new keys (S59)", async () => {
  const { database, ann } = await openWithOffer(postgres);
  await database.execute("UPDATE provider_key_sealing SET public_key = $1", [NEXT_BOX_KEY.publicKey]);
  expect(await readSealing(database, PEPPER)).toBeUndefined();
  const answer = await ann.post("/dashboard/provider-keys", { provider: `example ${ORIGIN}`, secret: PROVIDER_KEY });
  expect(answer.body).toContain("does not accept provider keys");
  expect(await dumpProviderKeys(database)).not.toContain(PROVIDER_KEY);
});

test("the operator opens what was sealed to any of its keys, and seals it anew to the first (S59)", async () => {
  const { database, ann } = await openWithOffer(postgres);
  await enterProviderKey(database, ann.accountId);
  const operator = operatorOf(database, [NEXT_BOX_KEY, BOX_KEY]);
  expect(await operator.read()).toMatchObject([{ provider: "example", value: PROVIDER_KEY }]);
  expect(await readSealedKeys(database)).toMatchObject([{ sealingKeyId: NEXT_BOX_KEY.id, version: 1 }]);
  await operator.stop();
  const later = operatorOf(database, [NEXT_BOX_KEY]);
  expect(await later.read()).toMatchObject([{ value: PROVIDER_KEY }]);
  await later.stop();
  const without = operatorOf(database, [BOX_KEY]);
  expect(await without.read()).toMatchObject([{ value: null }]);
  await without.stop();
});

test("a sealed value that was moved to another account, provider or server does not open", async () => {
  const { database, dashboard, ann } = await openWithOffer(postgres);
  const eve = await dashboard.owner("eve@example.com");
  const operator = operatorOf(database, [BOX_KEY]);
  for (const change of [
    `account_id = '${eve.accountId}'`,
    "provider = 'other'",
    "origin = 'https://evil.example'",
    "sealed = set_byte(sealed, 60, get_byte(sealed, 60) # 1)",
  ]) {
    await enterProviderKey(database, ann.accountId);
    await database.execute(`UPDATE provider_key SET ${change}`);
    expect(await operator.read(), change).toMatchObject([{ value: null }]);
    await database.execute("DELETE FROM provider_key");
  }
  await operator.stop();
});

test("whoever can only write the database cannot seal a key of their own to an account (S59)", async () => {
  const { database, ann } = await openWithOffer(postgres);
  await enterProviderKey(database, ann.accountId);
  const [key] = await readSealedKeys(database);
  if (key === undefined) throw new Error("there is a key");
  const planted = sealTo(BOX_KEY.publicKey, "px-eves-own-key", aboutProviderKey(key, Buffer.alloc(32, 9)));
  await database.execute("UPDATE provider_key SET sealed = $1, version = 2", [planted]);
  const operator = operatorOf(database, [BOX_KEY]);
  expect(await operator.read()).toMatchObject([{ value: null }]);
  await operator.stop();
});

test("a key that is entered again in place of one that cannot be used has other clusters (S59)", async () => {
  const { database, ann } = await openWithOffer(postgres);
  await enterProviderKey(database, ann.accountId);
  const [rejected] = await readSealedKeys(database);
  if (rejected === undefined) throw new Error("there is a key");
  await noteServed(database, [{ ...rejected, state: "unusable", fingerprints: [] }]);
  await enterProviderKey(database, ann.accountId, "px-own-second-1");
  const keys = await readSealedKeys(database);
  expect(keys).toHaveLength(1);
  expect(keys[0]?.id).not.toBe(rejected.id);
  expect(await listProviderKeys(database, ann.accountId)).toMatchObject([{ state: "pending", lastFour: "nd-1" }]);
});

test("a key of many long words has few fingerprints", async () => {
  const { database, ann } = await openWithOffer(postgres);
  const words = Array.from({ length: 60 }, (_, each) => `word${each}`.padEnd(16 + (each % 10), "x"));
  await enterProviderKey(database, ann.accountId, words.join("-"));
  const operator = operatorOf(database, [BOX_KEY]);
  const [opened] = await operator.read();
  expect(opened?.fingerprints).toHaveLength(16);
  await operator.stop();
});

test("extproc's feed says what requests need to know, in the transaction that changes it, and nothing else", async () => {
  const { database, ann } = await openWithOffer(postgres);
  const ofAnn = async () =>
    (await readAccountPage(database, { afterId: "" })).accounts.find(({ accountId }) => accountId === ann.accountId)
      ?.providerKeys;
  expect(await ofAnn()).toBeUndefined();
  await enterProviderKey(database, ann.accountId);
  const [sealed] = await readSealedKeys(database);
  if (sealed === undefined) throw new Error("there is a key");
  const key = { id: sealed.id, provider: "example", origin: ORIGIN };
  expect(await ofAnn()).toEqual([{ ...key, state: "pending", fingerprints: fingerprintsOf(PROVIDER_KEY, PEPPER) }]);
  const fingerprints = [{ length: 8, hash: "h" }];
  const served = { id: sealed.id, accountId: ann.accountId, version: 1, state: "active", fingerprints } as const;
  await noteServed(database, [served]);
  expect(await ofAnn()).toEqual([{ ...key, state: "active", fingerprints }]);

  // Envoy has only the value before, which is used until it has the new one.
  await enterProviderKey(database, ann.accountId, "px-own-second-1");
  const known = fingerprintsOf("px-own-second-1", PEPPER);
  expect(await ofAnn()).toMatchObject([{ id: sealed.id, state: "active", fingerprints: known }]);
  expect(await listProviderKeys(database, ann.accountId)).toMatchObject([{ state: "pending" }]);
  await noteServed(database, [{ ...served, state: "unusable" }]);
  expect(await ofAnn()).toMatchObject([{ state: "active" }]);
  await noteServed(database, [{ ...served, version: 2 }]);
  expect(await listProviderKeys(database, ann.accountId)).toMatchObject([{ state: "active" }]);
});
