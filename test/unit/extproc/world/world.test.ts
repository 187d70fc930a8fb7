import { describe, expect, test } from "vitest";
import { createWorld } from "../../../../extproc/world/world.ts";
import type { AccountRow, KeyRow } from "../../../../ledger/feed/rows.ts";

const NOTHING = { accounts: [], keys: [], models: [], unreadable: [] };

function keyRow(
  publicId: string,
  changes: { isDisabled?: boolean; allowedModels?: string[]; allowedOrigins?: string[] } = {},
): KeyRow {
  return {
    publicId,
    accountId: "acme",
    secretHash: Buffer.alloc(32, 1),
    previousSecret: null,
    isRevoked: false,
    isDisabled: false,
    expiresAt: null,
    allowedModels: null,
    allowedAddresses: null,
    allowedOrigins: null,
    hasPromptLog: false,
    limits: {},
    ...changes,
  };
}

function accountRow(accountId: string, changes: Partial<AccountRow> = {}): AccountRow {
  const balance = { postedNanoUsd: 0n, overdraftNanoUsd: 0n, version: 0n };
  return { accountId, isSuspended: false, ...balance, limits: {}, ...changes };
}

describe("the world", () => {
  const world = () => createWorld({ lastHeardMs: () => null });

  test("forgets a key as soon as it is revoked, even one that a request has just used", () => {
    const here = world();
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz")] });
    expect(here.findKey("AbCd5678WxYz")).toMatchObject({ accountId: "acme" });
    here.apply({ ...NOTHING, keys: [{ publicId: "AbCd5678WxYz", isRevoked: true }] });
    expect(here.findKey("AbCd5678WxYz")).toBeUndefined();
    expect(here.keys).toBe(0);
  });

  test("knows an origin as long as a key names it, whatever else happens to the key (S53)", () => {
    const here = world();
    const [page, other] = ["https://app.example.com", "http://localhost:5173"];
    const known = () => [here.hasOrigin(page), here.hasOrigin(other)];
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz", { allowedOrigins: [page, other] })] });
    here.apply({ ...NOTHING, keys: [keyRow("BbCd5678WxYz", { allowedOrigins: [page] })] });
    here.apply({ ...NOTHING, keys: [keyRow("CbCd5678WxYz", { allowedOrigins: [page, other] })] });
    expect(known()).toEqual([true, true]);
    // Sent again, as a whole and alone.
    here.reload("begin");
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz", { allowedOrigins: [page, other] })] });
    here.apply({ ...NOTHING, keys: [keyRow("BbCd5678WxYz", { allowedOrigins: [page] })] });
    here.reload("end");
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz", { allowedOrigins: [page, other], isDisabled: true })] });
    expect(known()).toEqual([true, true]);
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz", { allowedOrigins: [page] })] });
    expect(known()).toEqual([true, false]);
    here.apply({ ...NOTHING, keys: [{ publicId: "BbCd5678WxYz", isRevoked: true }] });
    expect(known()).toEqual([true, false]);
    here.apply({ ...NOTHING, unreadable: [{ kind: "key", id: "AbCd5678WxYz", reason: "" }] });
    expect(known()).toEqual([false, false]);
  });

  test("returns the current state of a key that was found before a change", () => {
    const here = world();
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz")] });
    expect(here.findKey("AbCd5678WxYz")?.isDisabled).toBe(false);
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz", { isDisabled: true })] });
    expect(here.findKey("AbCd5678WxYz")?.isDisabled).toBe(true);
  });

  test("creates no new object for a key that requests keep using", () => {
    const here = world();
    here.apply({ ...NOTHING, keys: [keyRow("AbCd5678WxYz")] });
    expect(here.findKey("AbCd5678WxYz")).toBe(here.findKey("AbCd5678WxYz"));
  });

  test("drops a key that a full reload does not contain, and none before its end", () => {
    const here = world();
    here.apply({ ...NOTHING, keys: [keyRow("AAAAAAAAAAAA"), keyRow("BBBBBBBBBBBB")] });
    expect(here.findKey("AAAAAAAAAAAA")).toBeDefined();
    here.reload("begin");
    here.apply({ ...NOTHING, keys: [keyRow("BBBBBBBBBBBB")] });
    expect(here.findKey("AAAAAAAAAAAA")).toBeDefined();
    here.reload("end");
    expect(here.findKey("AAAAAAAAAAAA")).toBeUndefined();
    expect(here.findKey("BBBBBBBBBBBB")).toBeDefined();
  });

  test("treats a restarted reload as new", () => {
    const here = world();
    here.reload("begin");
    here.apply({ ...NOTHING, keys: [keyRow("AAAAAAAAAAAA")] });
    here.reload("begin");
    here.apply({ ...NOTHING, keys: [keyRow("BBBBBBBBBBBB")] });
    here.reload("end");
    expect(here.findKey("AAAAAAAAAAAA")).toBeUndefined();
  });

  test("stores an account's text and equal limits once for all its keys", () => {
    const here = world();
    here.apply({
      ...NOTHING,
      accounts: [
        accountRow("acme", { limits: { requestsPerMinute: 5 } }),
        accountRow("globex", { limits: { requestsPerMinute: 5 } }),
      ],
    });
    expect(here.findAccount("acme")?.limits).toBe(here.findAccount("globex")?.limits);
  });

  test("keeps a balance returned by a settlement over an older read, and takes the rest of it", () => {
    const here = world();
    here.apply({ ...NOTHING, accounts: [accountRow("acme", { version: 1n, postedNanoUsd: 100n })] });
    here.applyBalances(new Map([["acme", { postedNanoUsd: 60n, version: 3n }]]));
    here.apply({ ...NOTHING, accounts: [accountRow("acme", { version: 2n, postedNanoUsd: 80n, isSuspended: true })] });
    expect(here.findAccount("acme")).toMatchObject({ postedNanoUsd: 60n, version: 3n, isSuspended: true });
  });

  test("takes an older balance from a server whose last changes are lost, and later ones in their order", () => {
    const here = world();
    here.apply({ ...NOTHING, accounts: [accountRow("acme", { version: 9n, postedNanoUsd: 0n })] });
    here.reload("begin");
    here.apply({ ...NOTHING, accounts: [accountRow("acme", { version: 5n, postedNanoUsd: 40n })] });
    here.reload("end");
    expect(here.findAccount("acme")).toMatchObject({ postedNanoUsd: 40n, version: 5n });
    here.applyBalances(new Map([["acme", { postedNanoUsd: 30n, version: 7n }]]));
    here.apply({ ...NOTHING, accounts: [accountRow("acme", { version: 6n, postedNanoUsd: 35n })] });
    expect(here.findAccount("acme")).toMatchObject({ postedNanoUsd: 30n, version: 7n });
  });

  describe("with rows that a newer version wrote", () => {
    const unreadable = (kind: "account" | "key" | "model", id: string) => ({
      ...NOTHING,
      unreadable: [{ kind, id, reason: "of the future" }],
    });

    test("a key is known and unusable, until it can be read again or is deleted", () => {
      const here = world();
      here.apply({ ...NOTHING, keys: [keyRow("AAAAAAAAAAAA"), keyRow("BBBBBBBBBBBB")] });
      expect(here.findKey("AAAAAAAAAAAA")?.isUnreadable).toBe(false);
      here.apply(unreadable("key", "AAAAAAAAAAAA"));
      here.apply(unreadable("key", "AAAAAAAAAAAA"));
      here.apply(unreadable("key", "BBBBBBBBBBBB"));
      expect(here.findKey("AAAAAAAAAAAA")).toMatchObject({ isUnreadable: true, isDisabled: true, allowedModels: [] });
      expect(here.unreadable.key).toBe(2);
      here.apply({ ...NOTHING, keys: [keyRow("AAAAAAAAAAAA"), { publicId: "BBBBBBBBBBBB", isRevoked: true }] });
      expect(here.findKey("AAAAAAAAAAAA")).toMatchObject({ isUnreadable: false, allowedModels: null });
      expect(here.unreadable.key).toBe(0);
    });

    test("a key in a repeated full send stays known", () => {
      const here = world();
      here.apply({ ...NOTHING, keys: [keyRow("AAAAAAAAAAAA")] });
      here.reload("begin");
      here.apply(unreadable("key", "AAAAAAAAAAAA"));
      here.reload("end");
      expect(here.findKey("AAAAAAAAAAAA")?.isUnreadable).toBe(true);
    });

    test("an account is not found until it can be read again", () => {
      const here = world();
      here.apply({ ...NOTHING, accounts: [accountRow("acme")] });
      here.apply(unreadable("account", "acme"));
      here.applyBalances(new Map([["acme", { postedNanoUsd: 60n, version: 3n }]]));
      expect(here.findAccount("acme")).toBeUndefined();
      expect(here.unreadable.account).toBe(1);
      here.apply({ ...NOTHING, accounts: [accountRow("acme", { version: 2n })] });
      expect(here.findAccount("acme")).toMatchObject({ postedNanoUsd: 60n, version: 3n });
      expect(here.unreadable.account).toBe(0);
    });

    test("a model is distinguished from one that does not exist", () => {
      const here = world();
      here.apply(unreadable("model", "large"));
      expect(here.findUnreadableModel("large")).toBe("large");
      expect(here.findUnreadableModel("small")).toBe(undefined);
      here.apply({ ...NOTHING, models: [{ name: "large", isWithdrawn: true }] });
      expect(here.findUnreadableModel("large")).toBe(undefined);
      here.apply({ ...NOTHING, unreadable: [{ kind: "model", id: "large", aliases: ["big"], reason: "of the future" }] });
      expect(here.findUnreadableModel("big")).toBe("large");
      here.apply({ ...NOTHING, models: [{ name: "large", isWithdrawn: true }] });
      expect(here.findUnreadableModel("big")).toBe(undefined);
      expect(here.unreadable.model).toBe(0);
    });
  });
});
