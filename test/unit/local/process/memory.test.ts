import { totalmem } from "node:os";
import { expect, test } from "vitest";
import { heapWithin, memoryLimit } from "../../../../local/process/memory.ts";

const MEBIBYTE = 1024 * 1024;

test.for([
  [1024, 512],
  [3072, 1024],
  [6144, 2048],
  [65_536, 2048],
] as const)("with %d MiB of memory Envoy's heap may take %d", ([memory, heap]) => {
  expect(heapWithin(memory * MEBIBYTE)).toBe(heap * MEBIBYTE);
});

test("the limit is the machine's memory, or less in a container", () => {
  expect(memoryLimit()).toBeGreaterThan(64 * MEBIBYTE);
  expect(memoryLimit()).toBeLessThanOrEqual(totalmem());
});
