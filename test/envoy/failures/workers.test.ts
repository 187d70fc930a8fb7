import { readdir } from "node:fs/promises";
import { setTimeout as sleep } from "node:timers/promises";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { parseApiKey } from "../../../ledger/keys/keys.ts";
import { setKeyLimits } from "../../../ledger/leases/limits.ts";
import { startDataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";
import { readFamily } from "../../support/supervised/process-facts.ts";

/** extproc as two processes behind one Envoy: to the ledger each is a replica like any other. */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000n, workers: 2 });
});
afterAll(() => stack.stop());

const CONCURRENCY = 24;

const usageCount = z.strictObject({ outcome: z.string(), isEstimated: z.boolean(), count: z.int(), requests: z.int() });
const leaseHolder = z.strictObject({ holder: z.string() });

function send(text: string, { stream = false, baseUrl = stack.baseUrl } = {}): Promise<Response> {
  return fetch(`${baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-flash", stream, messages: [{ role: "user", content: text }] }),
  });
}

/** Process ids of the workers, in no order: children of the supervisor. */
async function workers(): Promise<number[]> {
  const [, ...children] = await readFamily(stack.pids["extproc"] ?? 0);
  return children;
}

/** Of each worker, by its number. */
async function cpuSeconds(): Promise<Map<string, number>> {
  const text = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  const found = text.matchAll(/^process_cpu_seconds_total\{worker="(\w+)"\} (\S+)$/gm);
  return new Map([...found].map((match) => [match[1] ?? "", Number(match[2])]));
}

async function countRequests(): Promise<number> {
  const text = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  const found = [...text.matchAll(/^gateway_requests_total\{.*\} (\d+)$/gm)];
  return found.reduce((sum, match) => sum + Number(match[1]), 0);
}

test("two workers share the requests, and one metrics page sums their counts", async () => {
  expect(await workers()).toHaveLength(2);
  const before = await cpuSeconds();
  expect([...before.keys()].toSorted()).toEqual(["0", "1", "supervisor"]);

  const answers = await Promise.all(
    Array.from({ length: 400 }, async (_, index) => {
      const response = await send(`Request ${index}.`, { stream: index % 2 === 0 });
      await response.text();
      return response.status;
    }),
  );
  expect(new Set(answers)).toEqual(new Set([200]));

  await stack.idle();
  const after = await cpuSeconds();
  for (const worker of ["0", "1"]) expect(after.get(worker)).toBeGreaterThan(before.get(worker) ?? 0);
  const text = await (await fetch(`${stack.extprocAdminUrl}/metrics`)).text();
  expect(text).toContain('gateway_requests_total{model="modelx-v4-flash",interface="chat",outcome="complete"} 400');
  expect(await stack.countUsage()).toBe(400);
  expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
});

test("requests that come at once get all of a limit, whichever worker they reach (S23)", async () => {
  const parsed = parseApiKey(stack.apiKey);
  const publicId = parsed.kind === "key" ? parsed.publicId : "";
  await setKeyLimits(stack.database, publicId, { concurrentRequests: 4 });
  // Both workers have used the limit, and then have not for more than a turn.
  const refused = await eventually(async () => {
    const answers = await Promise.all(Array.from({ length: 8 }, () => send("Hi. [[sim chunk-ms=50]]", { stream: true })));
    const statuses = answers.map(({ status }) => status);
    await Promise.all(answers.map((answer) => answer.text()));
    expect(statuses).toContain(429);
    return statuses;
  });
  expect(refused).toContain(200);
  await sleep(2_500);
  const answers = await Promise.all(
    Array.from({ length: 8 }, () => send("Slow. [[sim tokens=30 chunk-ms=100]]", { stream: true })),
  );
  await Promise.all(answers.map((answer) => answer.text()));
  await setKeyLimits(stack.database, publicId, {});
  const admitted = answers.filter(({ status }) => status === 200).length;
  expect(admitted).toBeGreaterThanOrEqual(4);
  // Each worker may begin one more if what is left is reserved but not used.
  expect(admitted).toBeLessThanOrEqual(6);
  await eventually(async () => {
    const more = await Promise.all(Array.from({ length: 8 }, () => send("Hi.")));
    expect(new Set(more.map(({ status }) => status))).toEqual(new Set([200]));
  });
});

test("a worker killed under load: the others continue, it returns, and each token is charged once or flagged (S28)", async () => {
  const before = await stack.countUsage();
  const ends: string[] = [];
  const requestIds = new Set<string>();
  const over = new AbortController();
  const load = Array.from({ length: CONCURRENCY }, async (_, index) => {
    while (!over.signal.aborted) {
      // Some are slow, so that each worker carries streams at any moment.
      const chunkMs = index % 4 === 0 ? 100 : 10;
      const text = `Load ${index}. [[sim tokens=30 chunk-ms=${chunkMs}]]`;
      const response = await send(text, { stream: true }).catch(() => undefined);
      if (response === undefined) continue;
      if (response.status === 200) requestIds.add(response.headers.get("x-request-id") ?? "");
      const answer = await response.text().catch(() => "cut");
      ends.push(response.status === 200 && answer.endsWith("data: [DONE]\n\n") ? "whole" : `${response.status} broken`);
    }
  });
  const countWhole = () => ends.filter((each) => each === "whole").length;
  await eventually(() => expect(countWhole()).toBeGreaterThan(CONCURRENCY));

  const [victim = 0, survivor = 0] = await workers();
  const countedThen = await countRequests();
  process.kill(victim, "SIGKILL");
  const wholeThen = countWhole();
  await eventually(() => expect(countWhole()).toBeGreaterThan(wholeThen + 2 * CONCURRENCY));
  await eventually(async () => {
    const now = await workers();
    expect(now).toHaveLength(2);
    expect(now).toContain(survivor);
    expect(now).not.toContain(victim);
    expect((await fetch(`${stack.extprocAdminUrl}/readyz`)).status).toBe(200);
  });
  over.abort();
  await Promise.all(load);

  // Only what the dead worker carried is broken: as many as ran at that moment, at most.
  const broken = ends.filter((each) => each !== "whole");
  expect(broken.length).toBeGreaterThan(0);
  expect(broken.length).toBeLessThanOrEqual(CONCURRENCY);

  const metrics = await stack.idle();
  expect(metrics.get("gateway_worker_exits_total")).toBe(1);
  // A sum that fell would be read as a fresh start of all.
  expect(await countRequests()).toBeGreaterThan(countedThen);
  expect(metrics.get("gateway_open_holds")).toBe(0);
  await eventually(
    async () => {
      const rows = await stack.database.query({
        text: `SELECT outcome, is_estimated AS "isEstimated", count(*)::int AS count, count(DISTINCT request_id)::int AS requests
        FROM usage_event WHERE request_id = ANY($1) GROUP BY 1, 2`,
        values: [[...requestIds]],
        row: usageCount,
      });
      const sum = (read: (row: (typeof rows)[number]) => number) => rows.reduce((total, row) => total + read(row), 0);
      expect(sum(({ count }) => count)).toBe(requestIds.size);
      expect(sum(({ requests }) => requests)).toBe(requestIds.size);
      expect(rows.filter(({ outcome, isEstimated }) => outcome === "lost" && !isEstimated)).toEqual([]);
      expect(rows.find(({ outcome }) => outcome === "lost")?.count ?? 0).toBeGreaterThan(0);
      // Journals of ended processes are looked for every ten seconds.
    },
    { withinMs: 60_000 },
  );
  expect(await stack.countUsage()).toBeGreaterThanOrEqual(before + requestIds.size);
  expect(await stack.sumOfEntries()).toBe(await stack.balanceNanoUsd());
});

test("a dead worker's leases are freed", async () => {
  const journals = await readdir(stack.directory.journal);
  expect(journals).toHaveLength(2);
  const holders = await stack.database.query({
    text: "SELECT DISTINCT holder::text AS holder FROM credit_lease WHERE ended_at IS NULL",
    row: leaseHolder,
  });
  for (const { holder } of holders) expect(journals).toContain(holder);
});

test("a killed supervisor takes its workers with it: they finish running requests, and the next one serves", async () => {
  const plane = await startDataPlane(stack, {}, { workers: 2 });
  const ask = () => send("Long. [[sim tokens=100 chunk-ms=20]]", { stream: true, baseUrl: plane.baseUrl });
  try {
    const running = await Promise.all(Array.from({ length: 6 }, ask));
    await plane.endExtproc("SIGKILL");
    await plane.startExtproc();
    // Envoy asks a worker again once its next health check has found it.
    const next = await eventually(async () => {
      const response = await ask();
      expect(response.status).toBe(200);
      return response;
    });
    expect(await next.text()).toMatch(/data: \[DONE\]\n\n$/);
    for (const response of running) expect(await response.text()).toMatch(/data: \[DONE\]\n\n$/);
  } finally {
    await plane.stop();
  }
});

test("streams that outlast the workers of a killed supervisor are charged for delivered tokens by the next workers (S28)", async () => {
  const plane = await startDataPlane(stack, { DRAIN_SECONDS: "1" }, { workers: 2 });
  try {
    const running = await Promise.all(
      Array.from({ length: 40 }, () => send("Long. [[sim tokens=600 chunk-ms=50]]", { stream: true, baseUrl: plane.baseUrl })),
    );
    await plane.endExtproc("SIGKILL");
    await plane.startExtproc();
    await Promise.all(running.map((response) => response.text().catch(() => "")));
    for (const response of running) {
      const rows = await eventually(
        async () => {
          const found = await stack.usageOf(response.headers.get("x-request-id") ?? "");
          expect(found).toHaveLength(1);
          return found;
        },
        { withinMs: 40_000 },
      );
      expect(rows[0]?.outcome).toMatch(/^(aborted|lost)$/);
    }
  } finally {
    await plane.stop();
  }
});
