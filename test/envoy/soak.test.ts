import { afterAll, beforeAll, expect, test } from "vitest";
import { startTestStack, type TestStack } from "../support/stack.ts";

/**
 * Envoy's resets against Node's HTTP/2 guard show only after thousands of requests (docs/architecture.md), and leaks
 * only under load.
 */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000n });
});
afterAll(() => stack.stop());

const CONCURRENCY = 64;
/** Enough for V8 to have grown its heap to what this load needs: what grows after that grows without end. */
const WARM_UP = 10_000;
const REQUESTS = 20_000;
const STREAMS = 2_000;
const MEBIBYTE = 1024 * 1024;
/** Where getters or Maps keep what should be gone, it is 27; without, none in 131 were of the old. */
const OLD_COLLECTIONS_ARE_FEWER = 50;

test(
  "20,000 requests and 2,000 streams at concurrency 64: all good, nothing grows, everything is charged once",
  { timeout: 600_000 },
  async () => {
    await repeat(WARM_UP, (index) => request(index, false));
    await repeat(WARM_UP / 10, (index) => request(index, true));
    const before = await atRest();

    const statuses = await repeat(REQUESTS, (index) => request(index, false));
    const streamed = await repeat(STREAMS, (index) => request(index, true));
    expect(countBy(statuses)).toEqual({ "200": REQUESTS });
    expect(countBy(streamed)).toEqual({ "200 ended": STREAMS });

    const after = await atRest();
    expect(after.handles).toBeLessThanOrEqual(before.handles + 8);
    expect(after.heapBytes).toBeLessThan(before.heapBytes + 48 * MEBIBYTE);
    expect(after.residentBytes).toBeLessThan(before.residentBytes + 160 * MEBIBYTE);
    // What a request leaves behind dies young (docs/decisions/0023): hardly anything is left for the collector of the old.
    const [young, old] = [after.youngCollections - before.youngCollections, after.oldCollections - before.oldCollections];
    expect(young).toBeGreaterThan(OLD_COLLECTIONS_ARE_FEWER * old);

    const sent = WARM_UP + WARM_UP / 10 + REQUESTS + STREAMS;
    expect(await stack.countUsage()).toBe(sent);
    expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
    expect(stack.complaints).toEqual([]);
  },
);

/** All four pairs of protocols take turns. */
async function request(index: number, isStream: boolean): Promise<string> {
  const path = index % 2 === 0 ? "/v1/chat/completions" : "/v1/messages";
  const model = index % 4 < 2 ? "modelx-v4-pro" : "modelx-v4-flash";
  const response = await fetch(stack.baseUrl + path, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model, max_tokens: 64, stream: isStream, messages: [{ role: "user", content: `Request ${index}.` }] }),
  });
  const text = await response.text();
  if (!isStream) return String(response.status);
  const hasEnded = text.endsWith("data: [DONE]\n\n") || text.includes("event: message_stop\n");
  return `${response.status}${hasEnded ? " ended" : " cut"}`;
}

async function repeat(times: number, work: (index: number) => Promise<string>): Promise<string[]> {
  const results: string[] = [];
  let next = 0;
  const worker = async () => {
    while (next < times) results.push(await work(next++));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, worker));
  return results;
}

function countBy(values: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const value of values) counts[value] = (counts[value] ?? 0) + 1;
  return counts;
}

/** What the process holds when nothing runs. */
async function atRest() {
  const metrics = await stack.idle();
  const collections = await countCollections();
  return {
    ...collections,
    handles: metrics.get("nodejs_active_handles_total") ?? 0,
    heapBytes: metrics.get("nodejs_heap_size_used_bytes") ?? 0,
    residentBytes: metrics.get("process_resident_memory_bytes") ?? 0,
  };
}

async function countCollections() {
  const text = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  const count = (kind: string) =>
    Number(new RegExp(`^nodejs_gc_duration_seconds_count\\{kind="${kind}"\\} (\\d+)$`, "m").exec(text)?.[1] ?? 0);
  return { youngCollections: count("minor"), oldCollections: count("major") };
}
