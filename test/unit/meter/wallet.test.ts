import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { GatewayError } from "../../../contract/errors.ts";
import { createWallet, type Hold } from "../../../extproc/meter/wallet.ts";
import type { LeaseGrant } from "../../../ledger/leases.ts";
import { sizeOf } from "../../support/hold-size.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const never = new AbortController().signal;

/** A wallet whose bank has `free` to give, `slice` at a time, or is away. */
function start({ free = 1_000n, slice = 100n, others = 0n } = {}) {
  const account = { free, others, isAway: false, isAnswerLost: false, isEnded: false, grows: 0 };
  const returned: string[] = [];
  let leases = 0;
  const granted = new Map<string, bigint>();
  const wallet = createWallet({
    accountId: "acme",
    bank: {
      ttlMs: 90_000,
      async grow({ leaseId, neededNanoUsd, wantedNanoUsd }): Promise<LeaseGrant> {
        account.grows++;
        await Promise.resolve();
        if (account.isAway) throw new Error("connection refused");
        if (account.isEnded) {
          account.isEnded = false;
          return {
            isOpen: false,
            addedNanoUsd: 0n,
            grantedNanoUsd: 0n,
            spendableNanoUsd: 0n,
            freeNanoUsd: 0n,
            leasedByOthersNanoUsd: 0n,
          };
        }
        const wanted = wantedNanoUsd > slice ? wantedNanoUsd : slice;
        const reachable = wanted < account.free ? wanted : account.free;
        const addedNanoUsd = reachable < neededNanoUsd ? 0n : reachable;
        account.free -= addedNanoUsd;
        const facts = { spendableNanoUsd: 0n, freeNanoUsd: account.free, leasedByOthersNanoUsd: account.others };
        const grantedNanoUsd = (granted.get(leaseId) ?? 0n) + addedNanoUsd;
        if (grantedNanoUsd > 0n) granted.set(leaseId, grantedNanoUsd);
        if (account.isAnswerLost) throw new Error("connection lost");
        return { isOpen: granted.has(leaseId), addedNanoUsd, grantedNanoUsd, ...facts };
      },
      async shrink({ leaseId, nanoUsd }) {
        await Promise.resolve();
        account.free += nanoUsd;
        granted.set(leaseId, (granted.get(leaseId) ?? 0n) - nanoUsd);
      },
      async giveBack({ leaseId }) {
        if (account.isAway) throw new Error("connection refused");
        returned.push(leaseId);
      },
    },
    clock: { nowMs: () => Date.now() },
    newLeaseId: () => `lease-${++leases}`,
    topUpUrl: "https://example.test/dashboard",
    onLeaseFailed: () => {},
  });
  return { account, wallet, returned };
}

/** A refusal as its code and text; the hold where there is one. */
async function outcomeOf(hold: Hold | Promise<Hold>): Promise<Hold | string> {
  try {
    return await hold;
  } catch (error) {
    if (error instanceof GatewayError) return `${error.code} ${JSON.stringify(error.headers)}`;
    throw error;
  }
}

async function opened() {
  const started = start();
  const first = await started.wallet.admit(sizeOf(10n), never);
  first.release();
  return started;
}

test("with a lease that covers it, a request is admitted at once, without the database", async () => {
  const { wallet, account } = await opened();
  const { grows } = account;
  const hold = wallet.admit(sizeOf(40n), never);
  expect(hold).not.toBeInstanceOf(Promise);
  expect(wallet.heldNanoUsd).toBe(40n);
  expect(account.grows).toBe(grows);
});

test("the lease is refilled in the background when half of it is used", async () => {
  const { wallet, account } = await opened();
  await wallet.admit(sizeOf(60n), never);
  expect(account.grows).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(wallet.admit(sizeOf(130n), never)).not.toBeInstanceOf(Promise);
});

test("a settled hold frees what it did not use, and its charge stays taken", async () => {
  const { wallet, account } = await opened();
  account.free = 0n;
  const hold = await wallet.admit(sizeOf(100n), never);
  expect(hold.settle(30n)).toBe("lease-1");
  expect(wallet.heldNanoUsd).toBe(0n);
  expect(wallet.admit(sizeOf(70n), never)).not.toBeInstanceOf(Promise);
});

test("a hold ends once", async () => {
  const { wallet } = await opened();
  const hold = await wallet.admit(sizeOf(10n), never);
  hold.release();
  expect(() => hold.settle(1n)).toThrow("ended twice");
  expect(wallet.heldNanoUsd).toBe(0n);
});

describe("an account that has leased all it has", () => {
  async function drained() {
    const started = start({ free: 100n });
    const hold = await started.wallet.admit(sizeOf(80n), never);
    return { ...started, hold };
  }

  test("makes a request wait for one that runs, and then lets it in", async () => {
    const { wallet, hold } = await drained();
    const waiting = wallet.admit(sizeOf(50n), never);
    await vi.advanceTimersByTimeAsync(1_000);
    hold.settle(20n);
    expect((await waiting).heldNanoUsd()).toBe(50n);
  });

  test("lets requests in by their turn: a small one does not pass a large one", async () => {
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

  test("refuses after two seconds with a retry-after: credit is held, not gone", async () => {
    const { wallet } = await drained();
    const waiting = outcomeOf(wallet.admit(sizeOf(50n), never));
    await vi.advanceTimersByTimeAsync(2_001);
    expect(await waiting).toBe('insufficient_balance {"x-should-retry":"true","retry-after":"2"}');
  });

  test("refuses at once what could not be paid even if nothing ran", async () => {
    const { wallet } = await drained();
    const waiting = outcomeOf(wallet.admit(sizeOf(101n), never));
    await vi.advanceTimersByTimeAsync(300);
    expect(await waiting).toBe('insufficient_balance {"x-should-retry":"false"}');
  });

  test("gives a request that it could never pay in full a bounded part of what is left, which it may not pass (S30)", async () => {
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

  test("lets a request that has waited long enough begin on what is left, where that is enough for its least (S37)", async () => {
    const { wallet } = await drained();
    const waiting = wallet.admit(sizeOf(90n, 15n), never);
    await vi.advanceTimersByTimeAsync(2_001);
    expect((await waiting).heldNanoUsd()).toBe(15n);
  });

  test("says in a final refusal what its credit is enough for", async () => {
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

  test("does not ask the database for each of many refused requests", async () => {
    const { wallet, account } = await drained();
    const { grows } = account;
    const all = Array.from({ length: 500 }, () => outcomeOf(wallet.admit(sizeOf(101n), never)));
    await vi.advanceTimersByTimeAsync(100);
    expect(new Set(await Promise.all(all))).toEqual(new Set(['insufficient_balance {"x-should-retry":"false"}']));
    expect(account.grows - grows).toBeLessThanOrEqual(1);
  });

  test("asks again while other processes hold what is missing", async () => {
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

describe("a request whose client set no limit (S37)", () => {
  test("holds an eighth of what is free, and less of it with each request that runs", async () => {
    const { wallet } = start({ free: 800n, slice: 800n });
    const held = [];
    for (let number = 0; number < 3; number++) held.push((await wallet.admit(sizeOf(500n, 1n, true), never)).heldNanoUsd());
    expect(held).toEqual([100n, 43n, 27n]);
  });

  test("counts what nobody has leased yet as free", async () => {
    const { wallet, account } = await opened();
    expect(account.free).toBe(900n);
    expect((await wallet.admit(sizeOf(5_000n, 1n, true), never)).heldNanoUsd()).toBe(125n);
  });

  test("holds no more than it may cost, and never less than its least", async () => {
    const { wallet } = start({ free: 800n, slice: 800n });
    expect((await wallet.admit(sizeOf(50n, 1n, true), never)).heldNanoUsd()).toBe(50n);
    expect((await wallet.admit(sizeOf(500n, 400n, true), never)).heldNanoUsd()).toBe(400n);
  });

  test("is one of a hundred at once that are all admitted", async () => {
    const { wallet } = start({ free: 5_000n, slice: 2_500n });
    const holds = await Promise.all(Array.from({ length: 100 }, async () => wallet.admit(sizeOf(960n, 16n, true), never)));
    expect(holds.every((hold) => hold.heldNanoUsd() >= 16n)).toBe(true);
  });

  test("goes on within its lease while the database is away", async () => {
    const { wallet, account } = await opened();
    account.isAway = true;
    const waiting = wallet.admit(sizeOf(5_000n, 1n, true), never);
    await vi.advanceTimersByTimeAsync(10);
    expect((await waiting).heldNanoUsd()).toBe(12n);
  });
});

test("what a refused request asked for stays with the account (S37)", async () => {
  const { wallet, account } = start({ free: 1_000n });
  const waiting = outcomeOf(wallet.admit(sizeOf(2_000n, 1_500n), never));
  await vi.advanceTimersByTimeAsync(300);
  expect(await waiting).toBe('insufficient_balance {"x-should-retry":"false"}');
  expect(account.free).toBe(1_000n);
});

describe("while the database is away", () => {
  test("an account with a lease goes on", async () => {
    const { wallet, account } = await opened();
    account.isAway = true;
    for (let number = 0; number < 10; number++) {
      const hold = wallet.admit(sizeOf(50n), never);
      expect(hold).not.toBeInstanceOf(Promise);
      (await hold).settle(1n);
      await vi.advanceTimersByTimeAsync(5_000);
    }
  });

  test("an account without one is refused as unavailable, never as short", async () => {
    const { wallet, account } = start();
    account.isAway = true;
    const waiting = outcomeOf(wallet.admit(sizeOf(50n), never));
    await vi.advanceTimersByTimeAsync(1);
    expect(await waiting).toBe('billing_unavailable {"retry-after":"5"}');
  });

  test("a lease that could not be renewed in time admits nothing more", async () => {
    const { wallet, account } = await opened();
    account.isAway = true;
    await vi.advanceTimersByTimeAsync(88_001);
    expect(await outcomeOf(wallet.admit(sizeOf(50n), never))).toBe('billing_unavailable {"retry-after":"5"}');
  });

  test("a stream that runs may still extend within its lease", async () => {
    const { wallet, account } = await opened();
    const hold = await wallet.admit(sizeOf(10n), never);
    account.isAway = true;
    await vi.advanceTimersByTimeAsync(100_000);
    expect(hold.cover(90n)).toBe("covered");
  });
});

test("after its lease was taken away, a wallet asks for another one that covers what still runs", async () => {
  const { wallet, account } = await opened();
  const running = await wallet.admit(sizeOf(90n), never);
  await vi.advanceTimersByTimeAsync(1);
  wallet.lost();
  const next = await wallet.admit(sizeOf(50n), never);
  expect(next.heldNanoUsd()).toBe(50n);
  expect(account.free).toBeLessThanOrEqual(1_000n - 240n);
  expect(running.settle(80n)).toBe("lease-2");
});

test("a lease that had ended before it could grow is replaced at once", async () => {
  const { wallet, account } = await opened();
  account.isEnded = true;
  const hold = await wallet.admit(sizeOf(150n), never);
  expect(hold.heldNanoUsd()).toBe(150n);
  expect(wallet.leaseId).toBe("lease-2");
});

describe("when the answer to a grant is lost", () => {
  test("the next request asks for the same lease, and finds what it was given", async () => {
    const { wallet, account } = start({ free: 100n });
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

  test("and nothing asks any more, the lease is given back", async () => {
    const { wallet, account, returned } = start({ free: 100n });
    account.isAnswerLost = true;
    await outcomeOf(wallet.admit(sizeOf(80n), never));
    await wallet.giveBack();
    expect(returned).toEqual(["lease-1"]);
  });
});

describe("what the account's row says of its credit", () => {
  test("credit that was taken away is given up at once, but for what requests hold (S30)", async () => {
    const { wallet, account } = await opened();
    const running = await wallet.admit(sizeOf(40n), never);
    account.free = -150n;
    wallet.note({ freeNanoUsd: -150n, recall: null });
    expect(await outcomeOf(wallet.admit(sizeOf(10n), never))).toContain("insufficient_balance");
    expect(running.heldNanoUsd()).toBe(40n);
    expect(running.settle(40n)).toBe("lease-1");
  });

  test("what is given up is there for the next request that comes here, too (S37)", async () => {
    const { wallet } = start({ free: 100n });
    const hold = await wallet.admit(sizeOf(60n), never);
    hold.settle(0n);
    wallet.note({ freeNanoUsd: 0n, recall: { nanoUsd: 1_000n, atMs: 1 } });
    const next = await wallet.admit(sizeOf(60n), never);
    expect(next.heldNanoUsd()).toBe(60n);
  });

  test("what others need and nothing uses here goes back, as much as they need, once (S37)", async () => {
    const { wallet, account } = await opened();
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
    const { wallet, account } = start({ free: 100n, others: 500n });
    const waiting = wallet.admit(sizeOf(300n), never);
    await vi.advanceTimersByTimeAsync(100);
    account.free = 400n;
    wallet.note({ freeNanoUsd: 400n, recall: null });
    await vi.advanceTimersByTimeAsync(1);
    expect((await waiting).heldNanoUsd()).toBe(300n);
  });
});

describe("a lease whose return failed", () => {
  async function unreturned() {
    const started = await opened();
    started.account.isAway = true;
    await expect(started.wallet.giveBack()).rejects.toThrow("connection refused");
    return started;
  }

  test("is returned by the next try", async () => {
    const { wallet, account, returned } = await unreturned();
    account.isAway = false;
    await wallet.giveBack();
    expect(returned).toEqual(["lease-1"]);
  });

  test("admits nothing before the database has said that it is in force", async () => {
    const { wallet, account } = await unreturned();
    await expect(outcomeOf(wallet.admit(sizeOf(10n), never))).resolves.toMatch("billing_unavailable");
    account.isAway = false;
    account.isEnded = true;
    await vi.advanceTimersByTimeAsync(1_000);
    const hold = await wallet.admit(sizeOf(10n), never);
    expect(hold.settle(1n)).toBe("lease-2");
  });
});

test("a wallet that closes waits for what it has asked, and asks no more", async () => {
  const { wallet, account } = await opened();
  await wallet.admit(sizeOf(60n), never);
  const { grows } = account;
  await wallet.close();
  expect(wallet.leaseId).toBe("lease-1");
  void outcomeOf(wallet.admit(sizeOf(500n), never));
  expect(account.grows).toBe(grows);
});
