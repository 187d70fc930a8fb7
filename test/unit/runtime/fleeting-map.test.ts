import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { createFleetingMap } from "../../../runtime/fleeting-map.ts";

const run = promisify(execFile);

test("it behaves like a Map", () => {
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

test("all entries may be deleted during iteration", () => {
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

/** The second shows that the first can fail. Buffers of Node's own, from before, may be given back meanwhile. */
test.for([
  ["FleetingMap", -2, 6],
  ["Map", 20, 30],
] as const)("entries deleted from a %s since a full collection: MiB left by the young one", async ([kind, least, most]) => {
  const program = path.join(import.meta.dirname, "harness-map-memory.ts");
  // In a small heap, buffers of this size bring a full collection.
  const flags = ["--expose-gc", "--initial-heap-size=512"];
  const { stdout } = await run(process.execPath, [...flags, program, kind, String(least), String(most)]);
  expect(Number(stdout)).toBeGreaterThanOrEqual(least);
  expect(Number(stdout)).toBeLessThan(most);
});
