import { DatabaseError } from "pg";
import { expect, test } from "vitest";
import { createBatches } from "../../../../ledger/leases/batches.ts";

function statementTimeout(): DatabaseError {
  const error = new DatabaseError("canceling statement due to statement timeout", 0, "error");
  error.code = "57014";
  return error;
}

test("the accounts whose calls run apart are bounded, and those that failed last are among them (S40)", async () => {
  let isHeld = true;
  const sizes: number[] = [];
  const batches = createBatches<{ accountId: string }, true>({
    async run(items) {
      if (isHeld) throw statementTimeout();
      sizes.push(items.length);
      return items.map(() => true as const);
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
  });
  const results = await Promise.allSettled(["one", "held", "two", "held"].map((accountId) => batches.add({ accountId })));
  expect(results).toMatchObject([
    { status: "fulfilled", value: "one" },
    { status: "rejected" },
    { status: "fulfilled", value: "two" },
    { status: "rejected" },
  ]);
});
