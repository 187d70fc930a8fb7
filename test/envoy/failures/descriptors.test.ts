import { once } from "node:events";
import { connect } from "node:net";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { takeDescriptors } from "../../support/stacks/descriptors.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { startTestStack, type TestStack } from "../../support/stacks/stack.ts";

/** extproc and the dashboard run out of file descriptors: nobody waits for an answer without end, and the process goes on. */
let stack: TestStack;
beforeAll(async () => {
  stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000n });
});
afterAll(() => stack.stop());

const MANY = 40;
const PATIENCE_MS = 20_000;

/** Resolves when the other side closes one of many connections: the first ones may get what it has just closed itself. */
async function refused(url: string): Promise<void> {
  const { hostname, port } = new URL(url);
  const signal = AbortSignal.timeout(PATIENCE_MS);
  const closed = Array.from({ length: MANY }, () => {
    const socket = connect(Number(port), hostname);
    onTestFinished(() => void socket.destroy());
    socket.on("error", () => {});
    socket.resume();
    return once(socket, "close", { signal });
  });
  await Promise.any(closed);
}

/** Resolves when the process's log reports it. */
const reported = (part: string) =>
  eventually(() =>
    expect(stack.complaints).toContainEqual(expect.stringMatching(new RegExp(`^${part}: .*no file descriptors left`))),
  );

const pidOf = (part: string) => stack.pids[part] ?? 0;

async function ask(text: string): Promise<number> {
  const response = await fetch(`${stack.baseUrl}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${stack.apiKey}` },
    body: JSON.stringify({ model: "modelx-v4-pro", max_tokens: 20, messages: [{ role: "user", content: text }] }),
    signal: AbortSignal.timeout(PATIENCE_MS),
  });
  await response.text();
  return response.status;
}

async function open(path: string): Promise<number> {
  const response = await fetch(stack.baseUrl + path, { signal: AbortSignal.timeout(PATIENCE_MS) });
  await response.text();
  return response.status;
}

const many = (work: (index: number) => Promise<number>) => Promise.all(Array.from({ length: MANY }, (_, index) => work(index)));

test("extproc without file descriptors keeps answering, and settles its answers", { timeout: 120_000 }, async () => {
  const before = pidOf("extproc");
  expect(await ask("Before.")).toBe(200);
  const { giveBack } = await takeDescriptors(before);
  await refused(stack.extprocAdminUrl);
  const statuses = await many((index) => ask(`Without ${index}.`));
  for (const status of statuses) expect([200, 503]).toContain(status);
  await reported("extproc");
  await giveBack();
  await eventually(async () => expect((await scrape(stack.extprocAdminUrl)).get("gateway_descriptors_exhausted")).toBe(0));
  await eventually(async () => expect(await ask("After.")).toBe(200), { withinMs: 30_000 });
  await stack.idle();
  expect(await stack.balanceNanoUsd()).toBe(await stack.sumOfEntries());
  expect(pidOf("extproc")).toBe(before);
});

test("the dashboard without file descriptors refuses new connections, and serves them later", { timeout: 120_000 }, async () => {
  const before = pidOf("dashboard");
  expect(await open("/dashboard/sign-in")).toBe(200);
  const { giveBack } = await takeDescriptors(before);
  const statuses = await many(() => open("/dashboard/sign-in"));
  for (const status of statuses) expect([200, 503]).toContain(status);
  expect(statuses).toContain(503);
  await reported("dashboard");
  await giveBack();
  await eventually(async () => expect(new Set(await many(() => open("/dashboard/sign-in")))).toEqual(new Set([200])), {
    withinMs: 30_000,
  });
  expect(pidOf("dashboard")).toBe(before);
});
