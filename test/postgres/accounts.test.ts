import { expect, test } from "vitest";
import { createAccount, findAccount, readBalance } from "../../ledger/accounts.ts";
import { postCredit } from "../../ledger/entries.ts";
import { createApiKey, disableApiKey, parseApiKey, revokeApiKey, secretMatches } from "../../ledger/keys.ts";
import { readChanges } from "../../ledger/changes.ts";
import { countRows, createCustomer, PEPPER, wrongBalances } from "../support/ledger.ts";
import { usePostgres } from "../support/postgres.ts";

const postgres = usePostgres();
const FIVE_USD = 5_000_000_000n;

test("an account is made once and begins empty", async () => {
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

test("a credit is posted once per reference, whatever is replayed and however many at once (S26)", async () => {
  const { database } = await postgres.migrated();
  await createCustomer(database, "acme");
  const credit = { accountId: "acme", kind: "topup", amountNanoUsd: FIVE_USD, reference: "payment-1" } as const;
  const posted = await Promise.all(Array.from({ length: 8 }, () => postCredit(database, credit)));
  expect(posted.filter(({ isNew }) => isNew)).toHaveLength(1);
  expect(await postCredit(database, credit)).toEqual({ isNew: false, postedNanoUsd: FIVE_USD });
  expect(await countRows(database, "ledger_entry")).toBe(1n);
  expect(await wrongBalances(database)).toEqual([]);
});

test("a reference that was posted for something else is refused and moves nothing", async () => {
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

test("an adjustment may take away; a grant and a top-up may not; nothing may be zero", async () => {
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
  "rows of %s are never deleted, so that no reader misses it",
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
  const [key] = (await readChanges(database, 0n)).keys;
  expect(key).toMatchObject({
    publicId,
    accountId: "acme",
    name: "laptop",
    isRevoked: false,
    isDisabled: false,
    expiresAt,
    allowedModels: ["modelx-v4-pro"],
  });
  const parsed = parseApiKey(value);
  const secret = parsed.kind === "key" ? parsed.secret : "";
  expect(secretMatches({ pepper: PEPPER, secret, hash: key?.secretHash ?? Buffer.alloc(0) })).toBe(true);
});

test("a key for an unknown account is refused", async () => {
  const { database } = await postgres.migrated();
  await expect(createApiKey(database, { accountId: "nobody", name: "x", pepper: PEPPER })).rejects.toMatchObject({
    code: "not_found",
  });
});

test("a key is revoked once and disabled once", async () => {
  const { database } = await postgres.migrated();
  const { keyId } = await createCustomer(database, "acme");
  expect(await disableApiKey(database, keyId)).toBe(true);
  expect(await disableApiKey(database, keyId)).toBe(false);
  expect(await revokeApiKey(database, keyId)).toBe(true);
  expect(await revokeApiKey(database, keyId)).toBe(false);
  expect(await revokeApiKey(database, "000000000000")).toBe(false);
});
