import { spawn } from "node:child_process";
import path from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { setAccountLimits } from "../../../ledger/limits.ts";
import { startTestStack } from "../../support/stack.ts";
import { readUse } from "../processes.ts";

/**
 * `npm run bench:fairness`: what a steady account's requests take, alone and while another account floods the gateway with
 * streams, without and with a bound on the other's concurrent requests. The same flood past the gateway, at the model server,
 * tells what the machine is to blame for. Rounds alternate, for the machine is shared.
 */
const FLOOD_STREAMS = 100;
const BOUND = 8;
const ROUNDS = 5;
const REQUESTS = 300;
const STEADY_CONNECTIONS = 2;
const SETTLE_MS = 3_000;

const body = JSON.stringify({
  model: "modelx-v4-pro",
  max_tokens: 64,
  messages: [{ role: "user", content: "Hello. [[sim tokens=20]]" }],
});

const stack = await startTestStack({ isMeasured: true });
try {
  const steady = await stack.createAccount({ name: "steady", creditNanoUsd: 1_000_000_000_000n });
  const other = await stack.createAccount({ name: "other", creditNanoUsd: 1_000_000_000_000n });
  const url = `${stack.baseUrl}/v1/chat/completions`;

  async function measure(): Promise<Round> {
    const startedMs = performance.now();
    const before = await readUse([stack.pids["extproc"] ?? 0]);
    const durationsMs: number[] = [];
    let left = REQUESTS;
    const worker = async () => {
      while (left-- > 0) {
        const startedMs = performance.now();
        const response = await fetch(url, { method: "POST", headers: { authorization: `Bearer ${steady.apiKey}` }, body });
        await response.text();
        if (response.status !== 200) throw new Error(`the steady account got ${response.status}`);
        durationsMs.push(performance.now() - startedMs);
      }
    };
    await Promise.all(Array.from({ length: STEADY_CONNECTIONS }, worker));
    const { cpuMs } = await readUse([stack.pids["extproc"] ?? 0]);
    return { durationsMs, extprocBusy: (cpuMs - before.cpuMs) / (performance.now() - startedMs) };
  }

  async function whileFlooded(target: string, concurrentRequests: number | null): Promise<Round> {
    await setAccountLimits(stack.database, "other", concurrentRequests === null ? {} : { concurrentRequests });
    const arguments_ = [path.join(import.meta.dirname, "flood.ts"), target, other.apiKey, String(FLOOD_STREAMS)];
    const flood = spawn(process.execPath, arguments_, { stdio: ["ignore", "ignore", "inherit"] });
    try {
      await sleep(SETTLE_MS);
      return await measure();
    } finally {
      flood.kill();
      await stack.idle();
    }
  }

  await measure(); // warms everything up
  const found: Record<"alone" | "past" | "unbounded" | "bounded", Round[]> = { alone: [], past: [], unbounded: [], bounded: [] };
  for (let round = 0; round < ROUNDS; round++) {
    found.alone.push(await measure());
    found.past.push(await whileFlooded(`${stack.simulatorUrl}/v1/chat/completions`, null));
    found.unbounded.push(await whileFlooded(url, null));
    found.bounded.push(await whileFlooded(url, BOUND));
  }
  console.table({
    "the steady account alone": summarize(found.alone),
    [`beside ${FLOOD_STREAMS} streams past the gateway`]: summarize(found.past),
    [`beside ${FLOOD_STREAMS} streams of another account`]: summarize(found.unbounded),
    [`the same, the other bound to ${BOUND} at once`]: summarize(found.bounded),
  });
} finally {
  await stack.stop();
}

interface Round {
  durationsMs: number[];
  /** Cores that extproc used. */
  extprocBusy: number;
}

/** Medians over the rounds. */
function summarize(rounds: readonly Round[]) {
  const of = (durationsMs: readonly number[], share: number) =>
    durationsMs.toSorted((a, b) => a - b)[Math.floor(durationsMs.length * share)] ?? 0;
  const quantile = (share: number) => median(rounds.map(({ durationsMs }) => of(durationsMs, share))).toFixed(1);
  const extprocBusy = median(rounds.map(({ extprocBusy }) => extprocBusy)).toFixed(2);
  return { "p50 ms": quantile(0.5), "p99 ms": quantile(0.99), "cores of extproc": extprocBusy };
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
