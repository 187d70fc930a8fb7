import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { createApiKey, revokeApiKey, rotateApiKey } from "../../../ledger/keys/keys.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { createCustomer, PEPPER, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { listAllKeys } from "../../support/dashboard/listed-keys.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { DAY_MS } from "../../../contract/days.ts";

const postgres = usePostgres();

test("a key is listed with its settings, masked, and without its secret (S24)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await createCustomer(database, "acme");
  const expiresAt = new Date("2100-01-01T00:00:00Z");
  const allowedModels = ["modelx-v4-pro"];
  const { publicId, value } = await createApiKey(database, { accountId, name: "ci", pepper: PEPPER, expiresAt, allowedModels });
  const [key] = await listAllKeys(database, { accountId, publicId });
  expect(key).toEqual({
    publicId,
    masked: `sk-mg-${publicId.slice(0, 4)}****${publicId.slice(-4)}`,
    name: "ci",
    status: "active",
    createdAt: expect.any(Date),
    lastUsedAt: null,
    expiresAt,
    allowedModels,
    allowedAddresses: null,
    allowedOrigins: null,
    limits: {},
    promptLogDays: null,
    unknownLimits: [],
    previousUntil: null,
    spentTodayNanoUsd: 0n,
    spentThisMonthNanoUsd: 0n,
    spentNanoUsd: 0n,
    isPlayground: false,
    createdBy: null,
    projectId: null,
    projectName: null,
  });
  const secret = value.slice(-43);
  expect(Object.values(key ?? {}).join(" ")).not.toContain(secret.slice(0, 6));
});

test("a key shows its spending today, this month and in total, over all models (S27)", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const other = await createCustomer(database, "other");
  const spend = (ms: number, model: string, chargeNanoUsd: bigint, of = customer) =>
    settlementOf(of, { requestId: uuidv7({ msecs: ms }), model, chargeNanoUsd });
  const nowMs = Date.now();
  await settle(database, [
    spend(nowMs, "modelx-v4-pro", 1n),
    spend(nowMs, "modelx-chat", 20n),
    spend(nowMs, "modelx-chat", 9_000n, other),
    spend(nowMs - 40 * DAY_MS, "modelx-v4-pro", 300n),
  ]);
  const [key] = await listAllKeys(database, { accountId: "acme" });
  expect(key).toMatchObject({ spentTodayNanoUsd: 21n, spentThisMonthNanoUsd: 21n, spentNanoUsd: 321n });
  expect(key?.lastUsedAt).toBeInstanceOf(Date);
});

test("keys are listed newest first, with their state; deleted keys and other accounts' are left out", async () => {
  const { database } = await postgres.migrated();
  const { accountId, keyId } = await createCustomer(database, "acme");
  const { keyId: otherKeyId } = await createCustomer(database, "other");
  const create = async (name: string, expiresAt?: Date) => {
    const made = await createApiKey(database, {
      accountId,
      name,
      pepper: PEPPER,
      expiresAt,
    });
    return made.publicId;
  };
  await create("over", new Date(Date.now() - 1000));
  await changeKey(database, { accountId, publicId: await create("off") }, { isDisabled: true });
  await revokeApiKey(database, await create("gone"));
  await rotateApiKey(database, { publicId: keyId, pepper: PEPPER, previousUntil: new Date("2100-01-01T00:00:00Z") });

  const keys = await listAllKeys(database, { accountId });
  expect(keys.map(({ name, status }) => [name, status])).toEqual([
    ["off", "disabled"],
    ["over", "expired"],
    ["test", "active"],
  ]);
  expect(keys.at(-1)?.previousUntil).toEqual(new Date("2100-01-01T00:00:00Z"));
  expect(await listAllKeys(database, { accountId, publicId: otherKeyId })).toEqual([]);
});

test("a change sets only the fields that it names", async () => {
  const { database } = await postgres.migrated();
  const { accountId, keyId: publicId } = await createCustomer(database, "acme");
  const key = { accountId, publicId };
  const settings = {
    name: "ci",
    allowedModels: ["modelx-chat"],
    expiresAt: new Date("2100-01-01T00:00:00Z"),
    limits: { requestsPerMinute: 5, spendPerDayUsd: "0.50" },
    promptLogDays: 7,
  };
  await changeKey(database, key, { ...settings, isDisabled: true });
  expect(await listAllKeys(database, key)).toMatchObject([{ ...settings, status: "disabled" }]);
  await changeKey(database, key, { name: "renamed" });
  expect(await listAllKeys(database, key)).toMatchObject([{ ...settings, name: "renamed", status: "disabled" }]);
  await changeKey(database, key, { isDisabled: false });
  expect(await listAllKeys(database, key)).toMatchObject([{ ...settings, name: "renamed", status: "active" }]);
  await changeKey(database, key, { allowedModels: null, expiresAt: null, limits: {}, promptLogDays: null });
  expect(await listAllKeys(database, key)).toMatchObject([
    { name: "renamed", allowedModels: null, expiresAt: null, limits: {}, promptLogDays: null, status: "active" },
  ]);
});

test("a key that is renamed and disabled concurrently is both", async () => {
  const { database } = await postgres.migrated();
  const { accountId, keyId: publicId } = await createCustomer(database, "acme");
  const key = { accountId, publicId };
  await Promise.all([
    changeKey(database, key, { name: "renamed", limits: { requestsPerMinute: 1 } }),
    changeKey(database, key, { isDisabled: true }),
  ]);
  expect(await listAllKeys(database, key)).toMatchObject([
    { name: "renamed", limits: { requestsPerMinute: 1 }, status: "disabled" },
  ]);
});

test("another account's key and a deleted one are not found, and stay unchanged", async () => {
  const { database } = await postgres.migrated();
  const { accountId, keyId } = await createCustomer(database, "acme");
  await createCustomer(database, "other");
  const change = { name: "taken", isDisabled: true };
  await expect(changeKey(database, { accountId: "other", publicId: keyId }, change)).rejects.toMatchObject({ code: "not_found" });
  expect(await listAllKeys(database, { accountId })).toMatchObject([{ name: "test", status: "active" }]);
  await revokeApiKey(database, keyId);
  await expect(changeKey(database, { accountId, publicId: keyId }, change)).rejects.toMatchObject({ code: "not_found" });
});
