import { v7 as uuidv7 } from "uuid";
import { describe, expect, test } from "vitest";
import * as z from "zod";
import { DAY_MS } from "../../../contract/days.ts";
import { GatewayError } from "../../../contract/errors.ts";
import type { Limits as LimitSettings } from "../../../contract/limits.ts";
import { createLimits } from "../../../extproc/limits/limits.ts";
import { changeKey } from "../../../ledger/keys/key-settings.ts";
import { addResourceKey, changeResourceKey } from "../../../ledger/keys/resource-keys.ts";
import { setAccountLimits, type LimitSetter } from "../../../ledger/leases/account-limits.ts";
import { createLimitTurns } from "../../../ledger/leases/limit-turns.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import { seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { impatientClock } from "../../support/billing/limited.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { resourceKey } from "../../support/billing/resource-key.ts";
import { worldKey } from "../../support/billing/world-key.ts";

const postgres = usePostgres();
const ONE_USD = 1_000_000_000n;
const nothing = { tokens: 0, nanoUsd: 0n };

interface Limited {
  database: Database;
  publicId: string;
  accountId: string;
}

async function spend({ database, publicId, accountId }: Limited, usd: bigint): Promise<void> {
  await settle(database, [settlementOf({ accountId, keyId: publicId }, { chargeNanoUsd: usd * ONE_USD })]);
}

/** Of the account or of the key, by a process that starts now. */
async function leftUsd({ database, publicId, accountId }: Limited, limits: { key?: LimitSettings; account?: LimitSettings }) {
  const process = createLimits({
    clock: { nowMs: () => Date.now() },
    monotonic: impatientClock(),
    turns: createLimitTurns(database, uuidv7()),
  });
  const account = { accountId, isSuspended: false, postedNanoUsd: 0n, overdraftNanoUsd: 0n, version: 0n };
  const caller = {
    key: worldKey({ publicId, accountId, limits: limits.key ?? {} }),
    account: { ...account, limits: limits.account ?? {} },
  };
  (await process.begin(caller, "chat", nothing)).end(nothing);
  await process.share();
  for (let usd = 0; ; usd++) {
    try {
      const request = await process.begin(caller, "chat", nothing);
      request.end({ tokens: 0, nanoUsd: ONE_USD });
      await process.share();
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      await process.shareAll();
      return usd;
    }
  }
}

type Set = (limited: Limited, limits: LimitSettings) => Promise<unknown>;

const byAccount =
  (by: LimitSetter): Set =>
  ({ database, accountId }, limits) =>
    database.transaction((transaction) => setAccountLimits(transaction, { accountId, by, limits }));
const byKey: Set = ({ database, accountId, publicId }, limits) => changeKey(database, { accountId, publicId }, { limits });
const byResource: Set = ({ database }, limits) => changeResourceKey(database, resourceKey({ settings: { limits } }));

async function start(isResource: boolean): Promise<Limited> {
  const { database } = await postgres.migrated();
  const { accountId, keyId } = await seedLedger(database);
  if (!isResource) return { database, accountId, publicId: keyId };
  const key = resourceKey({ accountId });
  await addResourceKey(database, key);
  return { database, accountId, publicId: key.publicId };
}

describe.for([
  ["an account's owners", "account", byAccount("owner"), false],
  ["the operator", "account", byAccount("operator"), false],
  ["a key's form", "key", byKey, false],
  ["a key's program", "key", ({ database, publicId }, limits) => setKeyLimits(database, publicId, limits), false],
  ["an ApiKey resource", "key", byResource, true],
] satisfies [string, "account" | "key", Set, boolean][])("a spending limit set by %s", ([, noun, set, isResource]) => {
  test("counts what its month and its day have cost before (S23)", async () => {
    const limited = await start(isResource);
    await spend(limited, 4n);
    await set(limited, { spendPerMonthUsd: "6" });
    expect(await leftUsd(limited, { [noun]: { spendPerMonthUsd: "6" } })).toBe(2);
    await set(limited, { spendPerMonthUsd: "6", spendPerDayUsd: "5" });
    expect(await leftUsd(limited, { [noun]: { spendPerDayUsd: "5" } })).toBe(1);
  });

  test("counts what was spent while it was removed, and nothing twice when it is raised", async () => {
    const limited = await start(isResource);
    await set(limited, { spendPerMonthUsd: "6" });
    expect(await leftUsd(limited, { [noun]: { spendPerMonthUsd: "6" } })).toBe(6);
    await spend(limited, 6n);
    await set(limited, { spendPerMonthUsd: "10" });
    expect(await leftUsd(limited, { [noun]: { spendPerMonthUsd: "10" } })).toBe(4);
    await set(limited, {});
    await spend(limited, 8n);
    await set(limited, { spendPerMonthUsd: "15" });
    expect(await leftUsd(limited, { [noun]: { spendPerMonthUsd: "15" } })).toBe(1);
  });
});

test("a spending limit does not count earlier months, nor other keys", async () => {
  const limited = await start(false);
  const { database, accountId, publicId } = limited;
  await spend({ ...limited, publicId: "another" }, 3n);
  const now = new Date();
  const lastMonth = uuidv7({ msecs: Date.UTC(now.getUTCFullYear(), now.getUTCMonth()) - 1 });
  const late = settlementOf({ accountId, keyId: publicId }, { requestId: lastMonth, chargeNanoUsd: 9n * ONE_USD });
  await settle(database, [late]);
  await byKey(limited, { spendPerMonthUsd: "5" });
  expect(await leftUsd(limited, { key: { spendPerMonthUsd: "5" } })).toBe(5);
  const row = z.strictObject({ subject: z.string(), start: z.date() });
  const text = `SELECT subject, period_start AS start FROM limit_total`;
  await byAccount("owner")(limited, { spendPerDayUsd: "5" });
  const day = new Date(Date.now() - (Date.now() % DAY_MS));
  expect(await database.query({ text, row })).toContainEqual({ subject: `account:${accountId}`, start: day });
});
