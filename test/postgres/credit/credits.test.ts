import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { v7 as uuidv7 } from "uuid";
import { expect, test } from "vitest";
import { createAccount, readBalance } from "../../../ledger/accounts/accounts.ts";
import { checkLedger } from "../../../ledger/upkeep/check.ts";
import { createRedeemCode, redeemCode } from "../../../ledger/credit/codes.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { postCredit } from "../../../ledger/credit/entries.ts";
import { expireGrants, postExpiringGrant } from "../../../ledger/credit/grants.ts";
import { dropUsage, startNightly } from "../../../ledger/upkeep/nightly.ts";
import { refundRequest } from "../../../ledger/credit/refunds.ts";
import { usageByModelAndDay } from "../../../ledger/usage/reports.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { createLog } from "../../../runtime/log.ts";
import { COMPILE_CACHE } from "../../support/test-run/compile-cache.ts";
import { countRows, PEPPER, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { DAY_MS } from "../../../contract/days.ts";

const postgres = usePostgres();
/** The service itself. */
const ACME = { accountId: "acme", personId: null };
const soon = () => new Date(Date.now() + DAY_MS);

async function balanceOf(database: Database): Promise<bigint> {
  return (await readBalance(database, "acme")).postedNanoUsd;
}

/** As if the grant's time were over. */
async function passTime(database: Database, reference: string): Promise<void> {
  await database.execute("UPDATE expiring_grant SET expires_at = now() - interval '1 second' WHERE reference = $1", [reference]);
}

test("a code is redeemed once, in any spelling; the same account may send it again", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  await createAccount(database, { id: "other", name: "other" });
  const { code } = await createRedeemCode(database, { amountNanoUsd: 5_000n, pepper: PEPPER });
  expect(code).toMatch(/^([2-9A-HJ-NP-Z]{5}-){3}[2-9A-HJ-NP-Z]{5}$/);
  const spelled = ` ${code.toLowerCase().replaceAll("-", " ")} `;
  const all = await Promise.all(
    Array.from({ length: 8 }, () => redeemCode(database, { actor: ACME, code: spelled, pepper: PEPPER })),
  );
  expect(all.filter(({ isNew }) => isNew)).toEqual([{ isNew: true, postedNanoUsd: 5_000n, amountNanoUsd: 5_000n }]);
  await expect(redeemCode(database, { actor: { ...ACME, accountId: "other" }, code, pepper: PEPPER })).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(await balanceOf(database)).toBe(5_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("an unknown code and an expired one are rejected with the same message", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  const { code } = await createRedeemCode(database, { amountNanoUsd: 1n, pepper: PEPPER, expiresAt: new Date(Date.now() - 1) });
  for (const each of [code, "AAAAA-AAAAA-AAAAA-AAAAA"])
    await expect(redeemCode(database, { actor: ACME, code: each, pepper: PEPPER })).rejects.toThrow(
      "This code is invalid or was already used.",
    );
});

test("a code's text is never stored", async () => {
  const { database } = await postgres.migrated();
  const { code } = await createRedeemCode(database, { amountNanoUsd: 1n, pepper: PEPPER });
  const found = await database.execute("SELECT FROM redeem_code AS r WHERE strpos(r::text, $1) > 0", [code.replaceAll("-", "")]);
  expect(found).toBe(0);
});

test("the rest of a grant is removed when it expires; usage is deducted from it before other credit", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await postCredit(database, { accountId: "acme", kind: "grant", amountNanoUsd: 1_000_000n, reference: "bank transfer" });
  await settle(database, [settlementOf(customer)]);
  const grant = { accountId: "acme", amountNanoUsd: 200_000n, reference: "welcome", expiresAt: soon() };
  expect((await postExpiringGrant(database, grant)).isNew).toBe(true);
  expect((await postExpiringGrant(database, grant)).isNew).toBe(false);
  await settle(database, [settlementOf(customer)]);
  expect(await expireGrants(database)).toBe(0);
  await passTime(database, "welcome");
  expect(await expireGrants(database)).toBe(1);
  expect(await expireGrants(database)).toBe(0);
  // 90,000 before the grant came from the payment, 90,000 after it from the grant: 110,000 are taken back.
  expect(await balanceOf(database)).toBe(1_000_000n - 90_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("the rest of a grant is removed from an account that is below zero, as far as its overdraft allows", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await database.execute("UPDATE account_balance SET overdraft_nano_usd = 150000 WHERE account_id = 'acme'");
  await settle(database, [settlementOf(customer)]);
  for (const reference of ["first", "second"])
    await postExpiringGrant(database, { accountId: "acme", amountNanoUsd: 50_000n, reference, expiresAt: soon() });
  expect(await balanceOf(database)).toBe(10_000n);
  await settle(database, [settlementOf(customer, { chargeNanoUsd: 20_000n })]);
  for (const reference of ["first", "second"]) await passTime(database, reference);
  await expireGrants(database);
  expect(await balanceOf(database)).toBe(10_000n - 20_000n - 80_000n);
  await postExpiringGrant(database, { accountId: "acme", amountNanoUsd: 50_000n, reference: "third", expiresAt: soon() });
  await database.execute("UPDATE account_balance SET overdraft_nano_usd = 60000 WHERE account_id = 'acme'");
  await passTime(database, "third");
  await expireGrants(database);
  expect(await balanceOf(database)).toBe(-60_000n);
  expect(await checkLedger(database)).toEqual([]);
});

test("of two grants the one that expires first is used first; a used-up grant removes nothing", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const grant = { accountId: "acme", amountNanoUsd: 100_000n, expiresAt: soon() };
  await postExpiringGrant(database, { ...grant, reference: "later", expiresAt: new Date(Date.now() + 2 * DAY_MS) });
  await postExpiringGrant(database, { ...grant, reference: "first" });
  await settle(database, [settlementOf(customer), settlementOf(customer, { chargeNanoUsd: 30_000n })]);
  await passTime(database, "first");
  expect(await expireGrants(database)).toBe(1);
  expect(await balanceOf(database)).toBe(80_000n);
  await passTime(database, "later");
  expect(await expireGrants(database)).toBe(1);
  expect(await balanceOf(database)).toBe(0n);
});

test("a refund returns at most the charge, in any number of parts, and once per reference", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const settlement = settlementOf(customer);
  await settle(database, [settlement]);
  const { requestId } = settlement;
  expect(
    await refundRequest(database, { accountId: customer.accountId, requestId, amountNanoUsd: 40_000n, reference: "a" }),
  ).toMatchObject({ isNew: true });
  expect(
    await refundRequest(database, { accountId: customer.accountId, requestId, amountNanoUsd: 40_000n, reference: "a" }),
  ).toMatchObject({ isNew: false });
  await expect(
    refundRequest(database, { accountId: customer.accountId, requestId, amountNanoUsd: 50_001n, reference: "b" }),
  ).rejects.toMatchObject({
    code: "invalid_request",
  });
  expect(await refundRequest(database, { accountId: customer.accountId, requestId, reference: "b" })).toEqual({
    isNew: true,
    postedNanoUsd: 0n,
  });
  await expect(
    refundRequest(database, { accountId: customer.accountId, requestId: uuidv7(), reference: "c" }),
  ).rejects.toMatchObject({ code: "not_found" });
  expect(await checkLedger(database)).toEqual([]);
});

test("usage past its retention is dropped by day; the key's report and the check stay the same", async () => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  const old = settlementOf(customer, { requestId: uuidv7({ msecs: Date.now() - 40 * DAY_MS }) });
  await settle(database, [old, settlementOf(customer)]);
  const range = { keyId: customer.keyId, fromDay: "2020-01-01", toDay: "2099-01-01" };
  const before = await usageByModelAndDay(database, range);
  expect(before).toHaveLength(2);
  expect(await dropUsage(database, 30)).toBe(1);
  expect(await countRows(database, "usage_event")).toBe(1n);
  expect(await usageByModelAndDay(database, range)).toEqual(before);
  expect(await checkLedger(database)).toEqual([]);
});

test.for([
  ["balances", "UPDATE account_balance SET posted_nano_usd = posted_nano_usd + 1"],
  ["leases", "UPDATE account_balance SET leased_nano_usd = leased_nano_usd + 1"],
  ["hours", "UPDATE usage_by_hour SET output_tokens = output_tokens + 1"],
  ["days", "DELETE FROM usage_by_day"],
] as const)("the check finds and names a difference in %s", async ([check, damage]) => {
  const { database } = await postgres.migrated();
  const customer = await seedLedger(database);
  await settle(database, [settlementOf(customer)]);
  expect(await checkLedger(database)).toEqual([]);
  await database.execute(damage);
  const differences = await checkLedger(database);
  expect(new Set(differences.map((each) => each.check))).toEqual(new Set([check]));
  expect(differences[0]?.subject).toContain("acme");
});

test("`npm run ledger:check` prints each difference and fails with it", async () => {
  const { database, url } = await postgres.migrated();
  await seedLedger(database);
  expect(await runCheck(url)).toEqual([0, "The ledger adds up.\n"]);
  await database.execute("UPDATE account_balance SET posted_nano_usd = 7");
  expect(await runCheck(url)).toEqual([1, "balances: acme: expected 0, found 7\n1 difference.\n"]);
});

async function runCheck(url: string): Promise<[number, string]> {
  const main = fileURLToPath(new URL("../../../ledger/check-command/main.ts", import.meta.url));
  const child = spawn(process.execPath, [main], {
    env: { ...COMPILE_CACHE, DATABASE_URL: url },
    stdio: ["ignore", "pipe", "inherit"],
  });
  let output = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (output += text));
  const [code] = await once(child, "close");
  return [Number(code), output];
}

test("of many processes one checks the ledger each day, and all of them report its result", async () => {
  const { database } = await postgres.migrated();
  await seedLedger(database);
  await database.execute("UPDATE account_balance SET posted_nano_usd = 7");
  const seen: number[][] = [[], [], []];
  const log = createLog({ process: "test", level: "silent" });
  const all = seen.map((each) =>
    startNightly({ database, retentionDays: 90, log, everyMs: 20, onChecked: (differences) => each.push(differences) }),
  );
  await expect.poll(() => seen.map((each) => each.at(-1)), { timeout: 10_000 }).toEqual([1, 1, 1]);
  await Promise.all(all.map((each) => each.stop()));
  expect(await database.execute("SELECT FROM ledger_check")).toBe(1);
});
