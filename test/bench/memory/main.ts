import { eventually } from "../../support/eventually.ts";
import { askLong } from "../../support/wire/long-prompts.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { startTestStack } from "../../support/stacks/stack.ts";

/**
 * `npm run bench:memory`: what extproc holds when it is idle, and while it streams answers to prompts of 4 MiB. The first
 * start of a version compiles all files and holds 22 MiB more: run it twice. docs/scaling.md has the figures to compare with.
 */
const STREAMS = 40;
const TOKENS = 300;
const MEBIBYTE = 1024 * 1024;

const stack = await startTestStack({ isMeasured: true, creditNanoUsd: 1_000_000_000_000_000n });

async function measure() {
  const metrics = await scrape(stack.extprocAdminUrl);
  const mebibytes = (name: string) => Math.round((metrics.get(name) ?? 0) / MEBIBYTE);
  return {
    "open streams": metrics.get("gateway_open_streams"),
    "resident, MiB": mebibytes("process_resident_memory_bytes"),
    "heap, MiB": mebibytes("nodejs_heap_size_used_bytes"),
    "outside of the heap, MiB": mebibytes("nodejs_external_memory_bytes"),
  };
}

try {
  const idle = await measure();
  const streams = await Promise.all(Array.from({ length: STREAMS }, () => askLong(stack, { tokens: TOKENS })));
  await eventually(async () => {
    const { "open streams": open } = await measure();
    if (open !== STREAMS) throw new Error(`${open} of ${STREAMS} streams are open`);
  });
  console.table({ idle, [`${STREAMS} streams`]: await measure() });
  for (const response of streams) await response.body?.cancel();
} finally {
  await stack.stop();
}
