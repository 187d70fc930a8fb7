import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { never, openWallet, outcomeOf, startWallet } from "../../../support/billing/wallet.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("a request whose client set no limit (S37)", () => {
  test("holds an eighth of the free credit, and less with each running request", async () => {
    const { wallet } = startWallet({ free: 800n, slice: 800n });
    const held = [];
    for (let number = 0; number < 3; number++) held.push((await wallet.admit(sizeOf(500n, 1n, true), never)).heldNanoUsd());
    expect(held).toEqual([100n, 43n, 27n]);
  });

  test("counts unleased credit as free", async () => {
    const { wallet, account } = await openWallet();
    expect(account.free).toBe(900n);
    expect((await wallet.admit(sizeOf(5_000n, 1n, true), never)).heldNanoUsd()).toBe(125n);
  });

  test("holds no more than its possible cost, and never less than the minimum", async () => {
    const { wallet } = startWallet({ free: 800n, slice: 800n });
    expect((await wallet.admit(sizeOf(50n, 1n, true), never)).heldNanoUsd()).toBe(50n);
    expect((await wallet.admit(sizeOf(500n, 400n, true), never)).heldNanoUsd()).toBe(400n);
  });

  test("is one of a hundred concurrent ones that are all admitted", async () => {
    const { wallet } = startWallet({ free: 5_000n, slice: 2_500n });
    const holds = await Promise.all(Array.from({ length: 100 }, async () => wallet.admit(sizeOf(960n, 16n, true), never)));
    expect(holds.every((hold) => hold.heldNanoUsd() >= 16n)).toBe(true);
  });

  test("is served within its lease while the database is down", async () => {
    const { wallet, account } = await openWallet();
    account.isAway = true;
    const waiting = wallet.admit(sizeOf(5_000n, 1n, true), never);
    await vi.advanceTimersByTimeAsync(10);
    expect((await waiting).heldNanoUsd()).toBe(12n);
  });
});

test("credit requested by a refused request stays with the account (S37)", async () => {
  const { wallet, account } = startWallet({ free: 1_000n });
  const waiting = outcomeOf(wallet.admit(sizeOf(2_000n, 1_500n), never));
  await vi.advanceTimersByTimeAsync(300);
  expect(await waiting).toBe('insufficient_balance {"x-should-retry":"false"}');
  expect(account.free).toBe(1_000n);
});
