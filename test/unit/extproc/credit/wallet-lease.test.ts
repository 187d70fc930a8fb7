import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { never, openWallet, outcomeOf, startWallet } from "../../../support/billing/wallet.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

describe("while the database is down", () => {
  test("an account with a lease is served", async () => {
    const { wallet, account } = await openWallet();
    account.isAway = true;
    for (let number = 0; number < 10; number++) {
      const hold = wallet.admit(sizeOf(50n), never);
      expect(hold).not.toBeInstanceOf(Promise);
      (await hold).settle(1n);
      await vi.advanceTimersByTimeAsync(5_000);
    }
  });

  test("an account without one is refused as unavailable, never as out of credit", async () => {
    const { wallet, account } = startWallet();
    account.isAway = true;
    const waiting = outcomeOf(wallet.admit(sizeOf(50n), never));
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toBe('billing_unavailable {"retry-after":"5"}');
  });

  test("a lease that could not be renewed in time admits nothing more", async () => {
    const { wallet, account } = await openWallet();
    account.isAway = true;
    await vi.advanceTimersByTimeAsync(88_001);
    expect(await outcomeOf(wallet.admit(sizeOf(50n), never))).toBe('billing_unavailable {"retry-after":"5"}');
  });

  test("a running stream may still extend its hold within the lease", async () => {
    const { wallet, account } = await openWallet();
    const hold = await wallet.admit(sizeOf(10n), never);
    account.isAway = true;
    await vi.advanceTimersByTimeAsync(100_000);
    expect(hold.cover(90n)).toBe("covered");
  });
});

test("after its lease was taken away, a wallet requests another one that covers running requests", async () => {
  const { wallet, account } = await openWallet();
  const running = await wallet.admit(sizeOf(90n), never);
  await vi.advanceTimersByTimeAsync(1);
  wallet.lost();
  const next = await wallet.admit(sizeOf(50n), never);
  expect(next.heldNanoUsd()).toBe(50n);
  expect(account.free).toBeLessThanOrEqual(1_000n - 240n);
  expect(running.settle(80n)).toBe("lease-2");
});

test("a lease that had ended before it could grow is replaced at once", async () => {
  const { wallet, account } = await openWallet();
  account.isEnded = true;
  const hold = await wallet.admit(sizeOf(150n), never);
  expect(hold.heldNanoUsd()).toBe(150n);
  expect(wallet.leaseId).toBe("lease-2");
});

describe("when the answer to a grant is lost", () => {
  test("the next request asks for the same lease, and gets what was granted", async () => {
    const { wallet, account } = startWallet({ free: 100n });
    account.isAnswerLost = true;
    await expect(outcomeOf(wallet.admit(sizeOf(80n), never))).resolves.toMatch("billing_unavailable");
    account.isAnswerLost = false;
    await vi.advanceTimersByTimeAsync(1_000);
    // All of the account's credit is in that lease: it comes into force with its renewal.
    const waiting = outcomeOf(wallet.admit(sizeOf(80n), never));
    await vi.advanceTimersByTimeAsync(10);
    expect(wallet.leaseId).toBe("lease-1");
    wallet.renewed(Date.now());
    const hold = await wallet.admit(sizeOf(20n), never);
    expect(hold.settle(20n)).toBe("lease-1");
    const held = await waiting;
    expect(typeof held === "string" ? held : held.heldNanoUsd()).toBe(80n);
  });

  test("and no further request comes, the lease is returned", async () => {
    const { wallet, account, returned } = startWallet({ free: 100n });
    account.isAnswerLost = true;
    await outcomeOf(wallet.admit(sizeOf(80n), never));
    await wallet.giveBack();
    expect(returned).toEqual(["lease-1"]);
  });
});

describe("a lease whose return failed", () => {
  async function unreturned() {
    const started = await openWallet();
    started.account.isAway = true;
    await expect(started.wallet.giveBack()).rejects.toThrow("connection refused");
    return started;
  }

  test("is returned by the next attempt", async () => {
    const { wallet, account, returned } = await unreturned();
    account.isAway = false;
    await wallet.giveBack();
    expect(returned).toEqual(["lease-1"]);
  });

  test("admits nothing before the database has confirmed that it is in force", async () => {
    const { wallet, account } = await unreturned();
    await expect(outcomeOf(wallet.admit(sizeOf(10n), never))).resolves.toMatch("billing_unavailable");
    account.isAway = false;
    account.isEnded = true;
    await vi.advanceTimersByTimeAsync(1_000);
    const hold = await wallet.admit(sizeOf(10n), never);
    expect(hold.settle(1n)).toBe("lease-2");
  });
  test("keeps serving if nothing was returned, although the database is down", async () => {
    const { wallet, account } = await openWallet();
    account.isAway = true;
    account.isKept = true;
    await expect(wallet.giveBack()).rejects.toThrow("could not be returned");
    const hold = await wallet.admit(sizeOf(10n), never);
    expect(hold.settle(10n)).toBe("lease-1");
  });

  test("serves a request that arrived while it was being returned", async () => {
    const { wallet, account } = await openWallet();
    account.isAway = true;
    account.isKept = true;
    const returning = wallet.giveBack();
    const waiting = outcomeOf(wallet.admit(sizeOf(10n), never));
    await expect(returning).rejects.toThrow("could not be returned");
    const hold = await waiting;
    expect(typeof hold === "string" ? hold : hold.settle(10n)).toBe("lease-1");
  });
});
