import { createHash, randomBytes } from "node:crypto";
import { describe, expect, test } from "vitest";
import { createKeyTable, type WorldKey } from "../../../../extproc/world/key-table.ts";
import { worldKey } from "../../../support/billing/world-key.ts";

/** More than one chunk, and several rebuilds of the index. */
const MANY = 20_000;

function publicIdOf(number: number): string {
  return createHash("sha256")
    .update(String(number))
    .digest("base64")
    .replaceAll(/[^0-9A-Za-z]/g, "x")
    .slice(0, 12);
}

function keyOf(number: number, changes: Partial<WorldKey> = {}): WorldKey {
  return worldKey({
    publicId: publicIdOf(number),
    accountId: `account-${number % 10}`,
    secretHash: createHash("sha256").update(`secret ${number}`).digest(),
    ...changes,
  });
}

describe("a table of keys", () => {
  test("returns each of many keys as it was set", () => {
    const table = createKeyTable();
    for (let number = 0; number < MANY; number++) table.set(keyOf(number));
    expect(table.size).toBe(MANY);
    for (let number = 0; number < MANY; number++) expect(table.find(publicIdOf(number))).toEqual(keyOf(number));
    for (let number = MANY; number < MANY + 1000; number++) expect(table.find(publicIdOf(number))).toBeUndefined();
  });

  test.for([
    ["a disabled key", { isDisabled: true }],
    ["a key that expires", { expiresAt: new Date("2030-01-01T00:00:00Z") }],
    ["a rotated key", { previousSecret: { hash: Buffer.alloc(32, 3), until: new Date("2030-01-01T00:00:00Z") } }],
    ["a key with models and limits", { allowedModels: ["one", "two"], limits: { requestsPerMinute: 7 } }],
    ["a key that is bound to addresses", { allowedAddresses: ["203.0.113.0/24"] }],
    ["a key with a prompt log", { hasPromptLog: true }],
    ["a key of no model", { allowedModels: [] }],
  ] as const)("keeps all of %s, and nothing of it once it is replaced", ([, changes]) => {
    const table = createKeyTable();
    const key: WorldKey = keyOf(1, changes);
    table.set(key);
    expect(table.find(publicIdOf(1))).toEqual(key);
    table.set(keyOf(1));
    expect(table.find(publicIdOf(1))).toEqual(keyOf(1));
    expect(table.size).toBe(1);
  });

  test("keeps one object for equal settings of different keys", () => {
    const table = createKeyTable();
    for (const number of [1, 2]) table.set(keyOf(number, { allowedModels: ["one"], limits: { requestsPerMinute: 7 } }));
    const [one, two] = [table.find(publicIdOf(1)), table.find(publicIdOf(2))];
    expect(one?.allowedModels).toBe(two?.allowedModels);
    expect(one?.limits).toBe(two?.limits);
  });

  test("reuses a deleted key's row, and results found before stay unchanged", () => {
    const table = createKeyTable();
    table.set(keyOf(1, { previousSecret: { hash: Buffer.alloc(32, 3), until: new Date(9e12) } }));
    const found = table.find(publicIdOf(1));
    table.delete(publicIdOf(1));
    table.set(keyOf(2));
    expect(table.find(publicIdOf(1))).toBeUndefined();
    expect(table.find(publicIdOf(2))).toEqual(keyOf(2));
    expect(found?.secretHash).toEqual(keyOf(1).secretHash);
  });

  test("agrees with a Map through any order of setting and deleting", () => {
    const table = createKeyTable();
    const model = new Map<string, WorldKey>();
    for (let round = 0; round < 50_000; round++) {
      const number = randomBytes(2).readUInt16BE() % 3_000;
      if (round % 3 === 2) {
        table.delete(publicIdOf(number));
        model.delete(publicIdOf(number));
      } else {
        const key = keyOf(number, { isDisabled: round % 2 === 0 });
        table.set(key);
        model.set(key.publicId, key);
      }
    }
    expect(table.size).toBe(model.size);
    for (let number = 0; number < 3_000; number++) expect(table.find(publicIdOf(number))).toEqual(model.get(publicIdOf(number)));
  });

  test("deletes what a generation did not set again", () => {
    const table = createKeyTable();
    for (const number of [1, 2, 3]) table.set(keyOf(number));
    table.beginGeneration();
    table.set(keyOf(2));
    table.set(keyOf(4));
    expect(table.deleteOlder().toSorted()).toEqual([publicIdOf(1), publicIdOf(3)].toSorted());
    expect([1, 2, 3, 4].map((number) => table.find(publicIdOf(number)) !== undefined)).toEqual([false, true, false, true]);
  });

  test.for(["", "short", "AbCd5678WxYz-longer", "AbCd5678Wx\0z", "ÄÖÜßäöü12345"])("has no key with the id %j", (id) => {
    const table = createKeyTable();
    table.set(keyOf(1));
    expect(table.find(id)).toBeUndefined();
  });
});
