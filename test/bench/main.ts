import { cpuMilliseconds } from "./cpu.ts";
import { drive, type Load } from "./drive.ts";
import { startTestStack } from "../support/stack.ts";

/**
 * `npm run bench`: each workload straight to the simulated model server and through the gateway, in turns, billing on.
 * Read the ratios: both sides share this machine with the load generator and the model server.
 */
const ROUNDS = 3;
const CONCURRENCY = 32;

const WORKLOADS = [
  { name: "JSON, 1 KB prompt", requests: 1500, isStream: false, promptBytes: 1024 },
  { name: "JSON, 100 KB prompt", requests: 300, isStream: false, promptBytes: 100 * 1024 },
  { name: "stream of 100 chunks, 1 KB prompt", requests: 300, isStream: true, promptBytes: 1024 },
] as const;

const PAIRS = [
  { path: "/v1/chat/completions", model: "modelx-v4-pro", pair: "chat → chat" },
  { path: "/v1/chat/completions", model: "modelx-v4-flash", pair: "chat → messages" },
  { path: "/v1/messages", model: "modelx-v4-pro", pair: "messages → chat" },
  { path: "/v1/messages", model: "modelx-v4-flash", pair: "messages → messages" },
] as const;

const stack = await startTestStack({ creditNanoUsd: 1_000_000_000_000_000n });
const gateway = ["envoy", "extproc", "postgres", "operator"].map((name) => stack.pids[name] ?? 0);
try {
  await measure({ ...WORKLOADS[0], requests: 500 }, PAIRS[0]); // warms both sides up
  const table: Record<string, Record<string, string>> = {};
  for (const workload of WORKLOADS) {
    for (const pair of PAIRS) {
      const rounds = [];
      for (let round = 0; round < ROUNDS; round++) rounds.push(await measure(workload, pair));
      table[`${workload.name}, ${pair.pair}`] = summarize(rounds);
    }
  }
  console.table(table);
} finally {
  await stack.stop();
}

interface Measured {
  direct: number;
  gateway: number;
  directP50: number;
  gatewayP50: number;
  cpuMsPerRequest: number;
}

async function measure(
  workload: Omit<(typeof WORKLOADS)[number], "requests"> & { requests: number },
  pair: (typeof PAIRS)[number],
): Promise<Measured> {
  const load: Omit<Load, "url"> = {
    concurrency: CONCURRENCY,
    requests: workload.requests,
    apiKey: stack.apiKey,
    body: JSON.stringify({
      model: pair.model,
      max_tokens: 1000,
      stream: workload.isStream,
      messages: [{ role: "user", content: `${"word ".repeat(workload.promptBytes / 5)}[[sim tokens=100]]` }],
    }),
  };
  const direct = await drive({ ...load, url: stack.simulatorUrl + pair.path });
  const before = await cpuMilliseconds(gateway);
  const through = await drive({ ...load, url: stack.baseUrl + pair.path });
  await stack.idle();
  const cpuMs = (await cpuMilliseconds(gateway)) - before;
  return {
    direct: direct.perSecond,
    gateway: through.perSecond,
    directP50: direct.p50Ms,
    gatewayP50: through.p50Ms,
    cpuMsPerRequest: cpuMs / workload.requests,
  };
}

function summarize(rounds: readonly Measured[]): Record<string, string> {
  const median = (read: (round: Measured) => number) =>
    rounds.map(read).sort((a, b) => a - b)[Math.floor(rounds.length / 2)] ?? 0;
  return {
    "direct req/s": median((round) => round.direct).toFixed(0),
    "gateway req/s": median((round) => round.gateway).toFixed(0),
    ratio: median((round) => round.gateway / round.direct).toFixed(2),
    "added p50 ms": median((round) => round.gatewayP50 - round.directP50).toFixed(1),
    "gateway CPU ms/request": median((round) => round.cpuMsPerRequest).toFixed(2),
  };
}
