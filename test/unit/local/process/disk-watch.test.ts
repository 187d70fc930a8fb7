import { expect, test } from "vitest";
import { startDiskWatch } from "../../../../local/process/disk-watch.ts";
import { eventually } from "../../../support/eventually.ts";

const MIB = 2 ** 20;

/** @returns what is reported while each of these amounts was free, one after another. */
async function reportsWith(freeMib: readonly number[]): Promise<string[]> {
  const reported: string[] = [];
  let looks = 0;
  const free = async () => (freeMib[Math.min(looks++, freeMib.length - 1)] ?? 0) * MIB;
  const watch = startDiskWatch("/data", { onNews: (line) => void reported.push(line), free, everyMs: 1 });
  await eventually(() => expect(looks).toBeGreaterThan(freeMib.length));
  await watch.stop();
  return reported;
}

test("a disk that gets full is reported once, with what to do, and so is its end", async () => {
  expect(await reportsWith([500, 63.9, 0, 70, 40, 96])).toEqual([
    "The disk with the data directory /data has only 63 MiB left: free some space. Requests fail while it is full.",
    "The disk with the data directory /data has enough space again.",
  ]);
});

test("a disk with enough space is not mentioned", async () => {
  expect(await reportsWith([500, 64])).toEqual([]);
});
