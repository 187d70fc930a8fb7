import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { startElector, type Elector } from "../../../../operator/kube/elector.ts";
import { KubeError } from "../../../../operator/kube/kube-error.ts";

/** The elector against a Lease in memory; test/kube/operator has a real one. */
let elector: Elector;
// A real clock goes on while a busy machine has no time for the elector, which then loses its Lease.
beforeEach(() => void vi.useFakeTimers());
afterEach(async () => {
  await elector.release();
  vi.useRealTimers();
});

interface Server {
  /** What the next answers wait for. */
  gate: Promise<void>;
  isAway: boolean;
  holder: string;
}

function start() {
  const calls: string[] = [];
  const server: Server = { gate: Promise.resolve(), isAway: false, holder: "" };
  let version = 1;
  elector = startElector({
    lease: { namespace: "gateway", name: "operator" },
    identity: "me",
    clock: { nowMs: () => Date.now() },
    times: { durationMs: 400, deadlineMs: 250, retryMs: 20 },
    random: () => 0,
    onElected: () => void calls.push("elected"),
    onLost: () => void calls.push("lost"),
    events: { leading: () => undefined, leaseUnreachable: () => undefined },
    client: {
      async send({ method, body }) {
        await server.gate;
        if (server.isAway) throw new Error("connect ECONNREFUSED");
        if (method === "PUT") {
          const lease = JSON.parse(JSON.stringify(body?.content));
          if (lease.metadata.resourceVersion !== String(version)) throw new KubeError(409, { reason: "Conflict", message: "" });
          version += 1;
          server.holder = lease.spec.holderIdentity;
        }
        const spec = { holderIdentity: server.holder, leaseDurationSeconds: 1 };
        return { metadata: { uid: "lease-uid", resourceVersion: String(version) }, spec };
      },
    },
  });
  return { calls, server, until: (expected: string[]) => comes(() => expect(calls).toEqual(expected)) };
}

const STEP_MS = 5;
const PATIENCE_MS = 30_000;

/** Advances the clock until the assertion holds. */
async function comes(assertion: () => void): Promise<void> {
  for (let waitedMs = 0; ; waitedMs += STEP_MS) {
    try {
      return assertion();
    } catch (error) {
      if (waitedMs >= PATIENCE_MS) throw error;
    }
    await vi.advanceTimersByTimeAsync(STEP_MS);
  }
}

test("a free Lease is taken, and given up on release", async () => {
  const { server, until } = start();
  await until(["elected"]);
  expect(elector.isLeader()).toBe(true);
  expect(elector.leaseUid()).toBe("lease-uid");
  await elector.release();
  expect(elector.isLeader()).toBe(false);
  expect(server.holder).toBe("");
});

test("when the API server is down the leader stops in time, and leads again when it is back", async () => {
  const { calls, server, until } = start();
  await until(["elected"]);
  server.isAway = true;
  await comes(() => expect(elector.isLeader()).toBe(false));
  await until(["elected", "lost"]);
  server.isAway = false;
  await until(["elected", "lost", "elected"]);
  expect(elector.isLeader()).toBe(true);
  expect(calls.length).toBe(3);
});

test("a renewal that hung past the deadline and then succeeded is a new election: skipped work is done again", async () => {
  const { server, until } = start();
  await until(["elected"]);
  const { promise, resolve } = Promise.withResolvers<void>();
  server.gate = promise;
  await vi.advanceTimersByTimeAsync(600);
  expect(elector.isLeader()).toBe(false);
  resolve();
  await until(["elected", "lost", "elected"]);
});

test("a holder that finds another in its Lease has lost it", async () => {
  const { server, until } = start();
  await until(["elected"]);
  server.holder = "other";
  await until(["elected", "lost"]);
  expect(elector.isLeader()).toBe(false);
  server.holder = "";
});
