import { expect, test, vi } from "vitest";
import { createCurrentBalances } from "../../../../extproc/answers/current-balance.ts";
import type { SettledBalance } from "../../../../ledger/settlement/settled-balances.ts";

const balances = (accountIds: readonly string[]) =>
  new Map<string, SettledBalance>(accountIds.map((id) => [id, { postedNanoUsd: 1n, version: 1n }]));

test("one reading at a time, for all that were asked for since the last one began", async () => {
  const asked: string[][] = [];
  const readings = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const known = new Set<string>();
  const current = createCurrentBalances({
    async read(accountIds) {
      const reading = readings[asked.length];
      asked.push([...accountIds]);
      await reading?.promise;
      return balances(accountIds);
    },
    apply: (read) => read.keys().forEach((id) => known.add(id)),
  });
  const first = current.refresh("a");
  await vi.waitFor(() => expect(asked).toEqual([["a"]]));
  const later = ["a", "b", "b"].map((id) => current.refresh(id));
  readings[0]?.resolve();
  await first;
  expect(known).toEqual(new Set(["a"]));
  await vi.waitFor(() => expect(asked).toEqual([["a"], ["a", "b"]]));
  readings[1]?.resolve();
  await Promise.all(later);
  expect(known).toEqual(new Set(["a", "b"]));
});

test("a ledger that fails, or does not answer in time, leaves what is known", async () => {
  const applied: unknown[] = [];
  const answers = [Promise.reject(new Error("away")), Promise.withResolvers<never>().promise, Promise.resolve(balances(["c"]))];
  const current = createCurrentBalances({
    read: () => answers.shift() ?? Promise.reject(new Error("nothing left")),
    apply: (read) => applied.push(read),
    withinMs: 20,
  });
  await current.refresh("a");
  await current.refresh("b");
  expect(applied).toEqual([]);
});
