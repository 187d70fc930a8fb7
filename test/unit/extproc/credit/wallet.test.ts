import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { sizeOf } from "../../../support/billing/hold-size.ts";
import { never, openWallet, outcomeOf } from "../../../support/billing/wallet.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("with a lease that covers it, a request is admitted at once, without the database", async () => {
  const { wallet, account } = await openWallet();
  const { grows } = account;
  const hold = wallet.admit(sizeOf(40n), never);
  expect(hold).not.toBeInstanceOf(Promise);
  expect(wallet.heldNanoUsd).toBe(40n);
  expect(account.grows).toBe(grows);
});

test("the lease is refilled in the background when half of it is used", async () => {
  const { wallet, account } = await openWallet();
  await wallet.admit(sizeOf(60n), never);
  expect(account.grows).toBe(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(wallet.admit(sizeOf(130n), never)).not.toBeInstanceOf(Promise);
});

test("a settled hold frees its unused part, and its charge stays deducted", async () => {
  const { wallet, account } = await openWallet();
  account.free = 0n;
  const hold = await wallet.admit(sizeOf(100n), never);
  expect(hold.settle(30n)).toBe("lease-1");
  expect(wallet.heldNanoUsd).toBe(0n);
  expect(wallet.admit(sizeOf(70n), never)).not.toBeInstanceOf(Promise);
});

test("a hold ends once", async () => {
  const { wallet } = await openWallet();
  const hold = await wallet.admit(sizeOf(10n), never);
  hold.release();
  expect(() => hold.settle(1n)).toThrow("ended twice");
  expect(wallet.heldNanoUsd).toBe(0n);
});

test("a closing wallet waits for its open requests to the database, and starts no more", async () => {
  const { wallet, account } = await openWallet();
  await wallet.admit(sizeOf(60n), never);
  const { grows } = account;
  await wallet.close();
  expect(wallet.leaseId).toBe("lease-1");
  void outcomeOf(wallet.admit(sizeOf(500n), never));
  expect(account.grows).toBe(grows);
});
