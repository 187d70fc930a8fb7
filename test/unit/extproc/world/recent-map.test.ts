import { expect, test } from "vitest";
import { createRecentMap } from "../../../../extproc/world/recent-map.ts";

test("entries in use stay, and of the rest at most twice the bound", () => {
  const recent = createRecentMap<number>(10);
  recent.set("hot", 0);
  for (let number = 1; number < 1_000; number++) {
    recent.set(`key ${number}`, number);
    expect(recent.get("hot")).toBe(0);
  }
  const kept = Array.from({ length: 1_000 }, (_, number) => recent.get(`key ${number}`)).filter((value) => value !== undefined);
  expect(kept.length).toBeLessThanOrEqual(20);
  expect(recent.get("key 999")).toBe(999);
});

test("a deleted entry is gone from both halves", () => {
  const recent = createRecentMap<number>(2);
  recent.set("one", 1);
  recent.set("two", 2);
  recent.set("three", 3);
  recent.delete("one");
  recent.delete("three");
  expect([recent.get("one"), recent.get("two"), recent.get("three")]).toEqual([undefined, 2, undefined]);
});
