import { expect, test } from "vitest";
import { createAccount } from "../../../ledger/accounts/accounts.ts";
import { keptKey, readChanges } from "../../support/billing/changes.ts";
import { addMember } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { createApiKey, hashSecret } from "../../../ledger/keys/keys.ts";
import {
  addResourceKey,
  assignResourceKeyProject,
  changeResourceKey,
  listResourceKeys,
  readKeyActivity,
  readResourceKey,
  revokeResourceKey,
  rotateResourceKey,
} from "../../../ledger/keys/resource-keys.ts";
import { createProject } from "../../../ledger/projects/projects.ts";
import { PEPPER } from "../../support/billing/ledger.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";
import { resourceKey } from "../../support/billing/resource-key.ts";

const postgres = useOwnPostgres();
const UID = "11111111-1111-4111-8111-111111111111";
const OTHER_UID = "22222222-2222-4222-8222-222222222222";
const ACCOUNT = "team-a";

async function start(): Promise<Database> {
  const { database } = await postgres.migrated();
  await createAccount(database, { id: ACCOUNT, name: "Team A" });
  return database;
}

const read = (database: Database, { project, ...key }: { uid: string; accountId: string; project?: string }) =>
  readResourceKey(database, { ...key, project });

test("a resource's key is stored once, however often it is added", async () => {
  const database = await start();
  const key = resourceKey({ rotation: 3 });
  expect(await read(database, { uid: UID, accountId: ACCOUNT })).toEqual({ hasAccount: true, key: null });
  expect(await addResourceKey(database, key)).toBe("stored");
  const stored = (await read(database, { uid: UID, accountId: ACCOUNT })).key;
  expect(stored).toEqual({
    publicId: key.publicId,
    accountId: ACCOUNT,
    secretHash: hashSecret(PEPPER, key.secret),
    previousUntil: null,
    rotation: 3,
    origin: "here",
    revokedForMs: null,
    settings: key.settings,
    unknownLimits: [],
    spent: { dayNanoUsd: 0n, monthNanoUsd: 0n },
    isInProject: true,
  });
  const { seen } = await readChanges(database);
  expect(await addResourceKey(database, key)).toBe("stored");
  expect((await readChanges(database, seen)).keys).toEqual([]);
});

test("another key's public id is not taken over, whoever owns it", async () => {
  const database = await start();
  await addResourceKey(database, resourceKey());
  const stolen = resourceKey({ uid: OTHER_UID, resourceName: "thief", secret: "x".repeat(43) });
  expect(await addResourceKey(database, stolen)).toBe("foreign");
  const { publicId } = await createApiKey(database, { accountId: ACCOUNT, name: "by hand", pepper: PEPPER });
  expect(await addResourceKey(database, { ...stolen, publicId })).toBe("foreign");
  expect((await read(database, { uid: UID, accountId: ACCOUNT })).key?.secretHash).toEqual(
    hashSecret(PEPPER, resourceKey().secret),
  );
  expect((await read(database, { uid: OTHER_UID, accountId: ACCOUNT })).key).toBeNull();
});

test("its settings become those of the resource, and reach every follower of the changes", async () => {
  const database = await start();
  await addResourceKey(database, resourceKey());
  const { seen } = await readChanges(database);
  const settings = {
    name: "renamed",
    isDisabled: true,
    expiresAt: new Date("2027-01-31T00:00:00.000Z"),
    allowedModels: ["modelx"],
    allowedAddresses: ["203.0.113.0/24", "2001:db8::1"],
    allowedOrigins: ["https://app.example.com"],
    limits: { requestsPerMinute: 7, spendPerDayUsd: "2.5" },
    promptLogDays: 3,
  };
  await changeResourceKey(database, { uid: UID, origin: "there", settings });
  const stored = (await read(database, { uid: UID, accountId: ACCOUNT })).key;
  expect(stored).toMatchObject({ settings, origin: "there" });
  expect((await readChanges(database, seen)).keys).toMatchObject([{ isDisabled: true, hasPromptLog: true }]);
});

test("a rotation is stored once: repeated, it does not move the end of the overlap", async () => {
  const database = await start();
  const { publicId, secret } = resourceKey();
  await addResourceKey(database, resourceKey());
  const next = "y".repeat(43);
  const until = new Date("2027-01-01T00:00:00.000Z");
  const rotation = { uid: UID, publicId, secret: next, pepper: PEPPER, rotation: 1 };
  await rotateResourceKey(database, { ...rotation, previousUntil: until });
  await rotateResourceKey(database, { ...rotation, previousUntil: new Date("2028-01-01T00:00:00.000Z") });
  const { key } = await read(database, { uid: UID, accountId: ACCOUNT });
  expect(key).toMatchObject({ rotation: 1, secretHash: hashSecret(PEPPER, next), previousUntil: until });
  const [row] = (await readChanges(database)).keys;
  expect(keptKey(row).previousSecret).toEqual({ hash: hashSecret(PEPPER, secret), until });
});

test("a key enters the project that its resource names, whatever the name's case, if its account has one", async () => {
  const database = await start();
  await createAccount(database, { id: "other", name: "Other" });
  await addResourceKey(database, resourceKey());
  const personId = await createOwner(database, [ACCOUNT, "other"]);
  await createProject(database, { accountId: "other", personId, tokenId: null }, "Nightly");
  const project = "nightly";
  expect(await assignResourceKeyProject(database, { uid: UID, project })).toBe(false);
  expect((await read(database, { uid: UID, accountId: ACCOUNT, project })).key?.isInProject).toBe(false);
  await createProject(database, { accountId: ACCOUNT, personId, tokenId: null }, "Nightly");
  for (let times = 0; times < 2; times += 1) {
    expect(await assignResourceKeyProject(database, { uid: UID, project })).toBe(true);
    expect((await read(database, { uid: UID, accountId: ACCOUNT, project })).key?.isInProject).toBe(true);
  }
  expect((await read(database, { uid: UID, accountId: ACCOUNT, project: "another" })).key?.isInProject).toBe(false);
});

async function createOwner(database: Database, accountIds: readonly string[]): Promise<string> {
  const id = "33333333-3333-4333-8333-333333333333";
  await database.execute("INSERT INTO person (id, email, name) VALUES ($1, 'ann@example.com', 'Ann')", [id]);
  for (const accountId of accountIds)
    await database.transaction((transaction) => addMember(transaction, { accountId, personId: id, role: "owner" }));
  return id;
}

test("a revoked key reports since when, stays revoked, and is no longer listed", async () => {
  const database = await start();
  await addResourceKey(database, resourceKey());
  const resource = { namespace: "team-a", name: "client" };
  expect(await listResourceKeys(database, { origin: "here" })).toEqual([{ uid: UID, ...resource }]);
  expect(await listResourceKeys(database, { origin: "here", resource })).toHaveLength(1);
  expect(await listResourceKeys(database, { origin: "here", resource: { ...resource, name: "another" } })).toEqual([]);
  // Another installation does not know which resources are there.
  expect(await listResourceKeys(database, { origin: "elsewhere" })).toEqual([]);

  expect(await revokeResourceKey(database, UID)).toBe(true);
  expect(await revokeResourceKey(database, UID)).toBe(false);
  const { key } = await read(database, { uid: UID, accountId: ACCOUNT });
  expect(key?.revokedForMs).toBeGreaterThanOrEqual(0);
  await changeResourceKey(database, { uid: UID, origin: "here", settings: { ...resourceKey().settings, name: "renamed" } });
  expect((await read(database, { uid: UID, accountId: ACCOUNT })).key?.settings.name).toBe("client");
  expect(await listResourceKeys(database, { origin: "here" })).toEqual([]);
});

test("a key's spending is counted by UTC day and month, and shown once it was used", async () => {
  const database = await start();
  const key = resourceKey();
  await addResourceKey(database, key);
  expect(await readKeyActivity(database, "here")).toEqual([]);
  const spend = (day: string, charge: bigint) =>
    database.execute(`INSERT INTO usage_by_day VALUES ($1, ${day}, $2, 'm', 1, 0, 0, 0, 0, 0, $3)`, [
      ACCOUNT,
      key.publicId,
      charge,
    ]);
  await spend("(now() AT TIME ZONE 'UTC')::date", 5n);
  await spend("(date_trunc('month', now() AT TIME ZONE 'UTC') - interval '1 day')::date", 100n);
  await database.execute("UPDATE api_key SET last_used_at = '2026-11-21T12:00:00Z'");
  expect(await readKeyActivity(database, "here")).toEqual([
    {
      uid: UID,
      namespace: "team-a",
      name: "client",
      lastUsedAt: new Date("2026-11-21T12:00:00Z"),
      dayNanoUsd: 5n,
      monthNanoUsd: 5n,
    },
  ]);
  expect(await read(database, { uid: UID, accountId: "nobody" })).toMatchObject({
    hasAccount: false,
    key: { spent: { dayNanoUsd: 5n, monthNanoUsd: 5n } },
  });
});
