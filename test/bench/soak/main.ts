import { soak } from "../../support/stacks/soak-load.ts";
import { startTestStack } from "../../support/stacks/stack.ts";

/**
 * `npm run bench:soak`: what 22,000 requests leave behind in extproc, and how often its garbage was collected. Objects that
 * outlive their request show in the collections of the old generation (docs/decisions/0023): 50 of the young for each of
 * the old is what the product keeps; with getters or Maps that keep what should be gone, it was 27.
 */
const WARM_UP = { requests: 10_000, streams: 1_000 };
const LOAD = { requests: 20_000, streams: 2_000 };
const MEBIBYTE = 1024 * 1024;

const stack = await startTestStack({ isMeasured: true, creditNanoUsd: 1_000_000_000_000n });

async function measure() {
  const metrics = await stack.idle();
  const text = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  const collections = (kind: string) =>
    Number(new RegExp(`^nodejs_gc_duration_seconds_count\\{kind="${kind}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  return {
    "heap, MiB": (metrics.get("nodejs_heap_size_used_bytes") ?? 0) / MEBIBYTE,
    "resident, MiB": (metrics.get("process_resident_memory_bytes") ?? 0) / MEBIBYTE,
    "collections of the young": collections("minor"),
    "collections of the old": collections("major"),
  };
}

try {
  await soak(stack, WARM_UP);
  const before = await measure();
  console.log(await soak(stack, LOAD));
  console.table({ before, after: await measure() });
} finally {
  await stack.stop();
}
