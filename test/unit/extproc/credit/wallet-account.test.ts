import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { never, openWallet, outcomeOf, startWallet } from "../../../support/billing/wallet.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("an account's row about its credit", () => {
  test("removed credit is released at once, except for holds of requests (S30)", async () => {
    const { wallet, account } = await openWallet();
    const running = await wallet.admit(sizeOf(40n), never);
    account.free = -150n;
    wallet.note({ freeNanoUsd: -150n, recall: null });
    expect(await outcomeOf(wallet.admit(sizeOf(10n), never))).toContain("insufficient_balance");
    expect(running.heldNanoUsd()).toBe(40n);
    expect(running.settle(40n)).toBe("lease-1");
  });

  test("what the hold of a request leaves of removed credit is released, too (S30)", async () => {
    const { wallet, account } = startWallet({ free: 100n });
    const [charged, free] = [await wallet.admit(sizeOf(60n), never), await wallet.admit(sizeOf(40n), never)];
    account.free = -80n;
    wallet.note({ freeNanoUsd: -80n, recall: null });
    charged.settle(10n);
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(-30n);
    free.release();
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free, "no more than is missing").toBe(0n);
    expect(await outcomeOf(wallet.admit(sizeOf(11n), never))).toContain("insufficient_balance");
  });

  test("the removal of credit counts, too, if a growth that was decided before is answered after it (S30)", async () => {
    const { wallet, account } = startWallet({ free: 100n });
    const running = await wallet.admit(sizeOf(100n), never);
    await vi.advanceTimersByTimeAsync(300);
    const next = outcomeOf(wallet.admit(sizeOf(50n), never));
    wallet.note({ freeNanoUsd: -150n, recall: null });
    await vi.advanceTimersByTimeAsync(1);
    account.free = -150n;
    running.settle(10n);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(account.free).toBe(-60n);
    expect(await next).toContain("insufficient_balance");
  });

  test("nothing begins on removed credit that cannot be released yet, because more is being asked for (S30)", async () => {
    const { wallet, account } = startWallet({ free: 100n });
    const [running] = [await wallet.admit(sizeOf(60n), never), await wallet.admit(sizeOf(40n), never)];
    await vi.advanceTimersByTimeAsync(300);
    account.free = -80n;
    const next = outcomeOf(wallet.admit(sizeOf(50n), never));
    wallet.note({ freeNanoUsd: -80n, recall: null });
    running.settle(10n);
    await vi.advanceTimersByTimeAsync(2_000);
    expect(await next).toContain("insufficient_balance");
    expect(account.free).toBe(-30n);
  });

  test("credit whose removal a growth finds is released before the feed says so (S30)", async () => {
    const { wallet, account } = startWallet({ free: 100n });
    (await wallet.admit(sizeOf(60n), never)).settle(60n);
    account.free = -120n;
    await vi.advanceTimersByTimeAsync(1_000);
    // It begins on what is left of the lease, which is to grow.
    await wallet.admit(sizeOf(30n), never);
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(-110n);
  });

  test("credit that was added since less was asked for is there for the next request, before the feed says so (S30)", async () => {
    const { wallet, account } = startWallet({ free: 100n });
    (await wallet.admit(sizeOf(10n), never)).release();
    account.free += 1_000n;
    await vi.advanceTimersByTimeAsync(1);
    const asked = account.grows;
    expect(await outcomeOf(wallet.admit(sizeOf(2_000n), never))).toContain("insufficient_balance");
    // Those that come after a refusal believe it for a moment.
    expect(await outcomeOf(wallet.admit(sizeOf(2_000n), never))).toContain("insufficient_balance");
    expect(account.grows).toBe(asked + 1);
    const hold = await wallet.admit(sizeOf(1_000n), never);
    expect(hold.heldNanoUsd()).toBe(1_000n);
  });

  test("released credit is available to the next request here, too (S37)", async () => {
    const { wallet } = startWallet({ free: 100n });
    const hold = await wallet.admit(sizeOf(60n), never);
    hold.settle(0n);
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 1 } });
    const next = await wallet.admit(sizeOf(60n), never);
    expect(next.heldNanoUsd()).toBe(60n);
  });

  test("credit that others need and this process does not use is returned, as much as they need, once (S37)", async () => {
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

  test("credit whose return failed is returned when others need it again, while a request runs (S37)", async () => {
    const { wallet, account } = await openWallet();
    await wallet.admit(sizeOf(10n), never);
    account.isAway = true;
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 1 } });
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(900n);
    account.isAway = false;
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 2 } });
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(990n);
  });

  test("a return that fails while more is recalled is made up for at once (S37)", async () => {
    const { wallet, account } = await openWallet();
    await wallet.admit(sizeOf(10n), never);
    account.isAway = true;
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 1 } });
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 2 } });
    account.isAway = false;
    account.failsOnce = true;
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(990n);
  });

  test("what a process leases while others need credit is returned with what they asked for (S37)", async () => {
    const { wallet, account } = startWallet();
    const hold = await wallet.admit(sizeOf(60n), never);
    // It has begun to refill its lease of 100.
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 30n, atMs: 1 } });
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(930n);
    expect(hold.heldNanoUsd()).toBe(60n);
  });

  describe("while requests wait here", () => {
    /** All of the account's 60 are leased: half by this process. */
    async function half() {
      const started = startWallet({ free: 30n, slice: 30n, others: 30n });
      const first = await started.wallet.admit(sizeOf(10n), never);
      first.release();
      return started;
    }
    const recall = { nanoUsd: 10n, atMs: 1 };

    test("credit on which none of them can begin is returned: processes that all wait would keep what the others lack (S37)", async () => {
      const { wallet, account } = await half();
      const waiting = wallet.admit(sizeOf(40n), never);
      await vi.advanceTimersByTimeAsync(300);
      wallet.note({ freeNanoUsd: 0n, recall });
      await vi.advanceTimersByTimeAsync(1);
      expect(account.free).toBe(10n);
      account.free = 40n;
      wallet.note({ freeNanoUsd: 40n, recall });
      await vi.advanceTimersByTimeAsync(1);
      expect((await waiting).heldNanoUsd()).toBe(40n);
    });

    test("credit is kept that they have only begun to wait for, or can begin on", async () => {
      const { wallet, account } = await half();
      const waiting = wallet.admit(sizeOf(40n, 5n), never);
      wallet.note({ freeNanoUsd: 0n, recall });
      await vi.advanceTimersByTimeAsync(300);
      wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 10n, atMs: 2 } });
      await vi.advanceTimersByTimeAsync(1_800);
      expect(account.free).toBe(0n);
      expect((await waiting).heldNanoUsd()).toBe(15n);
    });
  });

  test("a recall is heeded even if its clock is behind that of the last one (S37)", async () => {
    const { wallet, account } = await openWallet();
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 30n, atMs: 300_000 } });
    await vi.advanceTimersByTimeAsync(1);
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 30n, atMs: 1 } });
    await vi.advanceTimersByTimeAsync(1);
    expect(account.free).toBe(960n);
  });

  test("requests that wait for credit find freed credit without waiting for their next turn", async () => {
    const { wallet, account } = startWallet({ free: 100n, others: 500n });
    const waiting = wallet.admit(sizeOf(300n), never);
    await vi.advanceTimersByTimeAsync(100);
    account.free = 400n;
    wallet.note({ freeNanoUsd: 400n, recall: null });
    await vi.advanceTimersByTimeAsync(1);
    expect((await waiting).heldNanoUsd()).toBe(300n);
  });
});
