import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sizeOf } from "../../../support/hold-size.ts";
import { never, openWallet, outcomeOf, startWallet } from "../../../support/wallet.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("what the account's row says of its credit", () => {
  test("credit that was taken away is given up at once, but for what requests hold (S30)", async () => {
    const { wallet, account } = await openWallet();
    const running = await wallet.admit(sizeOf(40n), never);
    account.free = -150n;
    wallet.note({ freeNanoUsd: -150n, recall: null });
    expect(await outcomeOf(wallet.admit(sizeOf(10n), never))).toContain("insufficient_balance");
    expect(running.heldNanoUsd()).toBe(40n);
    expect(running.settle(40n)).toBe("lease-1");
  });

  test("what is given up is there for the next request that comes here, too (S37)", async () => {
    const { wallet } = startWallet({ free: 100n });
    const hold = await wallet.admit(sizeOf(60n), never);
    hold.settle(0n);
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 1 } });
    const next = await wallet.admit(sizeOf(60n), never);
    expect(next.heldNanoUsd()).toBe(60n);
  });

  test("what others need and nothing uses here goes back, as much as they need, once (S37)", async () => {
    const { wallet, account } = await openWallet();
    const recall = { nanoUsd: 30n, atMs: 1 };
    for (let turn = 0; turn < 3; turn++) {
      wallet.note({ freeNanoUsd: 0n, recall });
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(account.free).toBe(930n);
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 2 } });
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(1_000n);
  });

  test("those that wait for credit find what has become free without waiting for their next turn", async () => {
    const { wallet, account } = startWallet({ free: 100n, others: 500n });
    const waiting = wallet.admit(sizeOf(300n), never);
    await vi.advanceTimersByTimeAsync(100);
    account.free = 400n;
    wallet.note({ freeNanoUsd: 400n, recall: null });
    await vi.advanceTimersByTimeAsync(1);
    expect((await waiting).heldNanoUsd()).toBe(300n);
  });
});
