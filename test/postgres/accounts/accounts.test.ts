import { describe, expect, test } from "vitest";
import { createAccount, findAccount, readBalance } from "../../../ledger/accounts/accounts.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { createApiKey, isSecretOf, parseApiKey, replaceSecret, revokeApiKey, rotateApiKey } from "../../../ledger/keys/keys.ts";
import { keptKey, readChanges } from "../../support/billing/changes.ts";
import { countRows, createCustomer, PEPPER, wrongBalances } from "../../support/billing/ledger.ts";
import { useOwnPostgres } from "../../support/billing/postgres.ts";

const postgres = useOwnPostgres();
const FIVE_USD = 5_000_000_000n;

test("a new account is created once and starts empty", async () => {
  const { database } = await postgres.migrated();
  expect(await createAccount(database, { id: "acme", name: "Acme" })).toEqual({ isNew: true });
  expect(await createAccount(database, { id: "acme", name: "Other" })).toEqual({ isNew: false });
  expect(await findAccount(database, "acme")).toMatchObject({ id: "acme", name: "Acme", status: "active" });
  expect(await findAccount(database, "nobody")).toBeUndefined();
  expect(await readBalance(database, "acme")).toEqual({ postedNanoUsd: 0n, leasedNanoUsd: 0n, overdraftNanoUsd: 0n });
  await expect(readBalance(database, "nobody")).rejects.toMatchObject({ code: "not_found" });
});

test.for(["", "Acme", "-acme", "acme-", "a".repeat(64), "a b", "a/b"])("an account cannot be called %j", async (id) => {
  const { database } = await postgres.migrated();
  await expect(createAccount(database, { id, name: "x" })).rejects.toMatchObject({ code: "invalid_request", field: "id" });
});

test("a credit is posted once per reference, however often and concurrently it is repeated (S26)", async () => {
  const { database } = await postgres.migrated();
  await createCustomer(database, "acme");
  const credit = { accountId: "acme", kind: "topup", amountNanoUsd: FIVE_USD, reference: "payment-1" } as const;
  const posted = await Promise.all(Array.from({ length: 8 }, () => postCredit(database, credit)));
  expect(posted.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(await postCredit(database, credit)).toEqual({ isNew: false, postedNanoUsd: FIVE_USD });
  expect(await countRows(database, "ledger_entry")).toBe(1n);
  expect(await wrongBalances(database)).toEqual([]);
});

test("a reference that was posted for something else is rejected and changes nothing", async () => {
  const { database } = await postgres.migrated();
  await createCustomer(database, "acme");
  await createCustomer(database, "other");
  const credit = { accountId: "acme", kind: "topup", amountNanoUsd: FIVE_USD, reference: "payment-1" } as const;
  await postCredit(database, credit);
  for (const changed of [{ accountId: "other" }, { amountNanoUsd: 1n }, { kind: "grant" } as const]) {
    await expect(postCredit(database, { ...credit, ...changed })).rejects.toMatchObject({ field: "reference" });
  }
  expect((await readBalance(database, "acme")).postedNanoUsd).toBe(FIVE_USD);
  expect((await readBalance(database, "other")).postedNanoUsd).toBe(0n);
});

test("an adjustment may deduct; a grant and a top-up may not; none may be zero", async () => {
  const { database } = await postgres.migrated();
  await createCustomer(database, "acme");
  const adjusted = await postCredit(database, { accountId: "acme", kind: "adjust", amountNanoUsd: -3n, reference: "a" });
  expect(adjusted.postedNanoUsd).toBe(-3n);
  for (const [kind, amountNanoUsd] of [
    ["grant", -1n],
    ["topup", 0n],
    ["adjust", 0n],
  ] as const) {
    await expect(postCredit(database, { accountId: "acme", kind, amountNanoUsd, reference: "b" })).rejects.toMatchObject({
      field: "amountNanoUsd",
    });
  }
  await expect(
    postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 1n, reference: "" }),
  ).rejects.toMatchObject({
    field: "reference",
  });
});

test("a credit for an unknown account is refused", async () => {
  const { database } = await postgres.migrated();
  const credit = { accountId: "nobody", kind: "grant", amountNanoUsd: 1n, reference: "g" } as const;
  await expect(postCredit(database, credit)).rejects.toMatchObject({ code: "not_found" });
  expect(await countRows(database, "ledger_entry")).toBe(0n);
});

test.for(["UPDATE ledger_entry SET amount_nano_usd = 1", "DELETE FROM ledger_entry", "TRUNCATE ledger_entry"])(
  "entries are append-only: %s is refused",
  async (statement) => {
    const { database } = await postgres.migrated();
    await createCustomer(database, "acme");
    await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: FIVE_USD, reference: "g" });
    await expect(database.execute(statement)).rejects.toThrow("is not allowed on ledger_entry");
    expect(await wrongBalances(database)).toEqual([]);
  },
);

test.for(["account", "account_balance", "api_key", "model"])(
  "rows of %s are never deleted, so that no reader misses a change",
  async (table) => {
    const { database } = await postgres.migrated();
    await expect(database.execute(`DELETE FROM ${table}`)).rejects.toThrow(`is not allowed on ${table}`);
  },
);

test("of an API key only the keyed hash of the secret is stored (S24)", async () => {
  const { database } = await postgres.migrated();
  await createAccount(database, { id: "acme", name: "Acme" });
  const expiresAt = new Date("2030-01-01T00:00:00Z");
  const { publicId, value } = await createApiKey(database, {
    accountId: "acme",
    name: "laptop",
    pepper: PEPPER,
    expiresAt,
    allowedModels: ["modelx-v4-pro"],
  });
  const [key] = (await readChanges(database)).keys;
  expect(key).toMatchObject({
    publicId,
    accountId: "acme",
    isRevoked: false,
    isDisabled: false,
    expiresAt,
    allowedModels: ["modelx-v4-pro"],
  });
  expect(isSecretOf(keptKey(key), { secret: secretOf(value), pepper: PEPPER, nowMs: Date.now() })).toBe(true);
});

describe("a rotated key", () => {
  async function rotated({ previousUntil }: { previousUntil: Date | null }) {
    const { database } = await postgres.migrated();
    await createAccount(database, { id: "acme", name: "Acme" });
    const before = await createApiKey(database, { accountId: "acme", name: "laptop", pepper: PEPPER });
    const { seen } = await readChanges(database);
    const after = await rotateApiKey(database, { publicId: before.publicId, pepper: PEPPER, previousUntil });
    const [key] = (await readChanges(database, seen)).keys;
    const accepts = (value: string, nowMs: number) =>
      isSecretOf(keptKey(key), { secret: secretOf(value), pepper: PEPPER, nowMs });
    return { database, publicId: before.publicId, before: before.value, after: after.value, accepts };
  }

  test("keeps its public id, and its previous secret until the overlap ends (S35)", async () => {
    const until = new Date("2030-01-01T00:00:00Z");
    const { publicId, before, after, accepts } = await rotated({ previousUntil: until });
    expect(parseApiKey(after)).toMatchObject({ kind: "key", publicId });
    expect(accepts(after, until.getTime() + 1)).toBe(true);
    expect(accepts(before, until.getTime() - 1)).toBe(true);
    expect(accepts(before, until.getTime())).toBe(false);
  });

  test("without an overlap loses its previous secret at once", async () => {
    const { before, after, accepts } = await rotated({ previousUntil: null });
    expect(accepts(after, 0)).toBe(true);
    expect(accepts(before, 0)).toBe(false);
  });

  test("that gets its current secret again stays unchanged", async () => {
    const { database, publicId, before, after } = await rotated({ previousUntil: new Date("2030-01-01T00:00:00Z") });
    const { seen } = await readChanges(database);
    const again = { publicId, pepper: PEPPER, previousUntil: null, secret: secretOf(after) };
    expect(await replaceSecret(database, again)).toBe(false);
    expect((await readChanges(database, seen)).keys).toEqual([]);
    expect(await replaceSecret(database, { ...again, secret: secretOf(before) })).toBe(true);
  });

  test("must exist", async () => {
    const { database, publicId } = await rotated({ previousUntil: null });
    const rotation = { pepper: PEPPER, previousUntil: null };
    await expect(rotateApiKey(database, { publicId: "000000000000", ...rotation })).rejects.toMatchObject({ code: "not_found" });
    await revokeApiKey(database, publicId);
    await expect(rotateApiKey(database, { publicId, ...rotation })).rejects.toMatchObject({ code: "not_found" });
  });
});

test("a key for an unknown account is refused", async () => {
  const { database } = await postgres.migrated();
  await expect(createApiKey(database, { accountId: "nobody", name: "x", pepper: PEPPER })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a key is revoked once", async () => {
  const { database } = await postgres.migrated();
  const { keyId } = await createCustomer(database, "acme");
  expect(await revokeApiKey(database, keyId)).toBe(true);
  expect(await revokeApiKey(database, keyId)).toBe(false);
  expect(await revokeApiKey(database, "000000000000")).toBe(false);
});

function secretOf(value: string): string {
  const parsed = parseApiKey(value);
  if (parsed.kind !== "key") throw new Error("That is no key.");
  return parsed.secret;
}
