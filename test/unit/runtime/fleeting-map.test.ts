import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { expect, test } from "vitest";
import { createFleetingMap } from "../../../runtime/fleeting-map.ts";
import { eventually } from "../../support/eventually.ts";

setFlagsFromString("--expose-gc");
const gc: (options?: { type: "minor" }) => void = runInNewContext("gc");

test("it is a Map", () => {
  const map = createFleetingMap<string, number>();
  map.set("a", 1);
  map.set("b", 2);
  map.set("a", 3);
  map.delete("absent");
  expect([map.size, map.get("a"), map.get("b"), map.get("absent")]).toEqual([2, 3, 2, undefined]);
  expect([...map.values()]).toEqual([2, 3]);
  map.delete("a");
  map.delete("a");
  expect([map.size, map.get("a"), ...map.values()]).toEqual([1, undefined, 2]);
});

test("all may be deleted while they are gone through", () => {
  const map = createFleetingMap<number, number>();
  for (let key = 0; key < 100; key++) map.set(key, key);
  const seen: number[] = [];
  for (const item of map.values()) {
    seen.push(item);
    map.delete(item);
    map.delete(item + 1);
  }
  expect([seen.length, map.size]).toEqual([50, 0]);
});

/** The second shows that the first can fail. */
test.for([
  ["FleetingMap", createFleetingMap<number, Buffer>(), 0, 6],
  ["Map", new Map<number, Buffer>(), 20, 30],
] as const)("what was deleted from a %s since a full collection: MiB that the young one leaves", async ([, map, least, most]) => {
  map.set(0, Buffer.alloc(0));
  gc();
  const before = process.memoryUsage().arrayBuffers;
  for (let key = 1; key <= 400; key++) {
    map.set(key, Buffer.allocUnsafeSlow(64 * 1024));
    map.delete(key - 32);
  }
  for (let times = 0; times < 3; times++) gc({ type: "minor" });
  // A thread beside gives the buffers back, in its own time.
  await eventually(() => {
    gc({ type: "minor" });
    const left = (process.memoryUsage().arrayBuffers - before) / 2 ** 20;
    expect(left).toBeGreaterThanOrEqual(least);
    expect(left).toBeLessThan(most);
  });
});
