import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { createBatches } from "../../../../ledger/leases/batches.ts";
import { HELD } from "../../../../ledger/leases/held.ts";

function statementTimeout(): DatabaseError {
  const error = new DatabaseError("canceling statement due to statement timeout", 0, "error");
  error.code = "57014";
  return error;
}

test("the accounts whose calls run alone are bounded, and those that failed last are among them (S40)", async () => {
  let isHeld = true;
  const sizes: number[] = [];
  const batches = createBatches<{ accountId: string }, true>({
    async run(items) {
      if (isHeld) throw statementTimeout();
      sizes.push(items.length);
      return items.map(() => true);
    },
    async runAlone() {
      if (isHeld) throw statementTimeout();
      sizes.push(1);
      return true;
    },
  });
  const addAll = (accountIds: readonly string[]) => Promise.allSettled(accountIds.map((accountId) => batches.add({ accountId })));
  const accountIds = Array.from({ length: 1_200 }, (_, number) => `account-${number}`);
  await addAll(accountIds);
  isHeld = false;
  await addAll(accountIds.slice(0, 200));
  expect(sizes).toEqual([200]);
  sizes.length = 0;
  await addAll(accountIds.slice(200, 210));
  expect(sizes).toEqual(Array.from({ length: 10 }, () => 1));
});

test("beside an account that somebody holds, the calls of others succeed, although they came in one batch (S40)", async () => {
  const batches = createBatches<{ accountId: string }, string>({
    async run(items) {
      if (items.some(({ accountId }) => accountId === "held")) throw statementTimeout();
      return items.map(({ accountId }) => accountId);
    },
    async runAlone({ accountId }) {
      if (accountId === "held") throw statementTimeout();
      return accountId;
    },
  });
  const results = await Promise.allSettled(["one", "held", "two", "held"].map((accountId) => batches.add({ accountId })));
  expect(results).toMatchObject([
    { status: "fulfilled", value: "one" },
    { status: "rejected" },
    { status: "fulfilled", value: "two" },
    { status: "rejected" },
  ]);
});

test("an account that is held for a moment does not wait for those that were held for long (S40)", async () => {
  const released = Promise.withResolvers<void>();
  const tried: string[] = [];
  const batches = createBatches<{ accountId: string }, string>({
    run: async (items) => items.map(() => HELD),
    async runAlone({ accountId }) {
      tried.push(accountId);
      if (accountId === "moment") return accountId;
      if (tried.length > 3) await released.promise;
      throw statementTimeout();
    },
  });
  const long = ["one", "two", "three"].map((accountId) => ({ accountId }));
  const first = await Promise.allSettled(long.map((item) => batches.add(item)));
  const second = Promise.allSettled(long.map((item) => batches.add(item)));
  expect(await batches.add({ accountId: "moment" })).toBe("moment");
  released.resolve();
  for (const results of [first, await second])
    expect(results.map(({ status }) => status)).toEqual(["rejected", "rejected", "rejected"]);
  expect(tried).toHaveLength(7);
});
