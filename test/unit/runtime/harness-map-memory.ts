import process from "node:process";
import { setTimeout as sleep } from "node:timers/promises";
import { createFleetingMap } from "../../../runtime/fleeting-map.ts";

/**
 * Run by itself with `--expose-gc`: prints the MiB of deleted buffers that collections of the young generation leave, as
 * soon as they are in the range that is expected.
 */
const [kind, least, most] = process.argv.slice(2);
const map = kind === "FleetingMap" ? createFleetingMap<number, Buffer>() : new Map<number, Buffer>();
map.set(0, Buffer.alloc(0));
globalThis.gc?.();
const before = process.memoryUsage().arrayBuffers;
for (let key = 1; key <= 400; key++) {
  map.set(key, Buffer.allocUnsafeSlow(64 * 1024));
  map.delete(key - 32);
}
for (let times = 0; times < 3; times++) globalThis.gc?.({ type: "minor" });
// A thread beside gives the buffers back, in its own time.
const deadline = performance.now() + 10_000;
let left = leftMiB();
while ((left < Number(least) || left >= Number(most)) && performance.now() < deadline) {
  await sleep(50);
  globalThis.gc?.({ type: "minor" });
  left = leftMiB();
}
process.stdout.write(String(left));

function leftMiB(): number {
  return (process.memoryUsage().arrayBuffers - before) / 2 ** 20;
}
