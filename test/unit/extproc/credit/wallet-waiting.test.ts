import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { never, outcomeOf, startWallet } from "../../../support/billing/wallet.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an account that has leased all of its credit", () => {
  async function drained() {
    const started = startWallet({ free: 100n });
    const hold = await started.wallet.admit(sizeOf(80n), never);
    return { ...started, hold };
  }

  test("makes a request wait for a running one, and then admits it", async () => {
    const { wallet, hold } = await drained();
    const waiting = wallet.admit(sizeOf(50n), never);
    await vi.advanceTimersByTimeAsync(1_000);
    hold.settle(20n);
    expect((await waiting).heldNanoUsd()).toBe(50n);
  });

  test("admits requests in order: a small one does not overtake a large one", async () => {
    const { wallet, hold } = await drained();
    const order: string[] = [];
    const large = wallet.admit(sizeOf(90n), never);
    const small = wallet.admit(sizeOf(10n), never);
    void Promise.resolve(large).then((each) => (order.push("large"), each.settle(0n)));
    void Promise.resolve(small).then(() => order.push("small"));
    await vi.advanceTimersByTimeAsync(500);
    expect(order).toEqual([]);
    hold.settle(10n);
    await vi.advanceTimersByTimeAsync(1);
    expect(order).toEqual(["large", "small"]);
  });

  test("looks for credit again after a quarter of a second, although a timer may be a little early", async () => {
    const { wallet, account } = startWallet({ free: 0n, others: 100n, nowMs: () => Date.now() * 0.999 });
    const waiting = wallet.admit(sizeOf(50n), never);
    await vi.advanceTimersByTimeAsync(240);
    expect(account.grows).toBe(1);
    account.free = 100n;
    await vi.advanceTimersByTimeAsync(20);
    expect(account.grows).toBe(2);
    expect((await waiting).heldNanoUsd()).toBe(50n);
  });

  test("refuses after two seconds with a retry-after: credit is held, not spent", async () => {
    const { wallet } = await drained();
    const waiting = outcomeOf(wallet.admit(sizeOf(50n), never));
    await vi.advanceTimersByTimeAsync(2_001);
    expect(await waiting).toBe('insufficient_balance {"x-should-retry":"true","retry-after":"2"}');
  });

  test("refuses at once what could not be paid even if nothing were running", async () => {
    const { wallet } = await drained();
    const waiting = outcomeOf(wallet.admit(sizeOf(101n), never));
    await vi.advanceTimersByTimeAsync(300);
    expect(await waiting).toBe('insufficient_balance {"x-should-retry":"false"}');
  });

  test("gives a request that it could never pay in full a bounded part of the rest, which it cannot exceed (S30)", async () => {
    const { wallet } = await drained();
    const waiting = wallet.admit(sizeOf(500n, 5n), never);
    await vi.advanceTimersByTimeAsync(300);
    const hold = await waiting;
    // 20 are left, and one request runs.
    expect(hold.heldNanoUsd()).toBe(5n);
    expect(hold.cover(21n)).toBe("asked");
    await vi.advanceTimersByTimeAsync(1);
    expect(hold.cover(21n)).toBe("short");
  });

  test("lets a request that has waited long enough start on the rest, if that covers its minimum (S37)", async () => {
    const { wallet } = await drained();
    const waiting = wallet.admit(sizeOf(90n, 15n), never);
    await vi.advanceTimersByTimeAsync(2_001);
    expect((await waiting).heldNanoUsd()).toBe(15n);
  });

  test("states in a final refusal what its credit covers", async () => {
    const { wallet, hold } = await drained();
    hold.settle(80n);
    const waiting = Promise.resolve(wallet.admit(sizeOf(500n, 21n), never)).catch((error: unknown) => String(error));
    await vi.advanceTimersByTimeAsync(300);
    expect(await waiting).toContain("credit covers 20 of 21.");
  });

  test("sees a top-up within a quarter of a second", async () => {
    const { wallet, account } = await drained();
    account.free = 1_000n;
    await vi.advanceTimersByTimeAsync(250);
    const waiting = wallet.admit(sizeOf(200n), never);
    await vi.advanceTimersByTimeAsync(1);
    expect((await waiting).heldNanoUsd()).toBe(200n);
  });

  test("does not query the database for each of many refused requests", async () => {
    const { wallet, account } = await drained();
    const { grows } = account;
    const all = Array.from({ length: 500 }, () => outcomeOf(wallet.admit(sizeOf(101n), never)));
    await vi.advanceTimersByTimeAsync(100);
    expect(new Set(await Promise.all(all))).toEqual(new Set(['insufficient_balance {"x-should-retry":"false"}']));
    expect(account.grows - grows).toBeLessThanOrEqual(1);
  });

  test("asks again while other processes hold the missing credit", async () => {
    const { wallet, account } = await drained();
    account.others = 500n;
    await vi.advanceTimersByTimeAsync(300);
    const waiting = wallet.admit(sizeOf(150n), never);
    await vi.advanceTimersByTimeAsync(600);
    account.free = 500n;
    await vi.advanceTimersByTimeAsync(300);
    expect((await waiting).heldNanoUsd()).toBe(150n);
  });
});
