import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { markdownTable } from "../../support/documents/markdown-table.ts";
import { readFamily } from "../../support/supervised/process-facts.ts";
import type { Gateway } from "../gateways/gateway.ts";
import { startModelGateway } from "../gateways/model-gateway.ts";
import { loadProgram } from "../load/program.ts";
import { startUpstream } from "../load/upstream.ts";
import { measure, type Round } from "../measure.ts";
import type { Pair } from "../pairs.ts";
import { median } from "../report.ts";
import { WORKLOADS } from "../workloads.ts";
import { fillIdleCores } from "./filler.ts";
import { sliceCpu, type CpuSlice } from "./cpu-slice.ts";

/**
 * `npm run bench:scaling`: what one and two workers of extproc carry, each on a small core of its own: a slice of one
 * that is alike for all, so that driver, model server and Envoy have room on a small machine, too. Rounds alternate.
 */
const WORKERS = [1, 2];
/** Of one core. */
const SLICE = 0.15;
const ROUNDS = 9;
/** For each worker: so that one of several has as much at once as one alone. */
const CASES: readonly { name: string; connections: number; requests: number; warmRequests: number }[] = [
  { name: "JSON, 1 KB prompt", connections: 32, requests: 3_000, warmRequests: 15_000 },
  { name: "stream of 100 chunks, 1 KB prompt", connections: 16, requests: 1_000, warmRequests: 4_000 },
];

interface Sliced {
  workers: number;
  gateway: Gateway;
  slices: CpuSlice[];
}

const pair: Pair = { client: "chat", upstream: "chat" };
const program = await loadProgram();
const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-bench-"));
const upstream = await startUpstream(program);
const all: Sliced[] = [];
const filler = fillIdleCores();
try {
  for (const workers of WORKERS) {
    const gateway = await startModelGateway({ upstreamUrl: upstream.url, directory }, { workers });
    const sliced: Sliced = { workers, gateway, slices: [] };
    all.push(sliced);
    // Compilers are done before there is little for them.
    for (const { name, connections, warmRequests } of CASES) await run(sliced, name, { connections, requests: warmRequests });
    const [first = 0, ...children] = await readFamily(gateway.parts["extproc"] ?? 0);
    // One worker has no supervisor.
    for (const pid of children.length === 0 ? [first] : children) sliced.slices.push(await sliceCpu(pid, SLICE));
  }
  for (const { name, ...load } of CASES) {
    const rounds = all.map((): Round[] => []);
    for (let round = 0; round < ROUNDS; round++)
      for (const [index, sliced] of all.entries()) rounds[index]?.push(await run(sliced, name, load));
    process.stdout.write(`\n${name}, workers with ${SLICE} of a core each\n${tableOf(rounds)}\n`);
  }
} finally {
  filler.stop();
  for (const { gateway, slices } of all) {
    await gateway.stop();
    for (const slice of slices) await slice.remove();
  }
  await upstream.stop();
  await rm(directory, { recursive: true, force: true });
}

async function run({ gateway, workers }: Sliced, name: string, load: { connections: number; requests: number }): Promise<Round> {
  const base = WORKLOADS.find((workload) => workload.name === name);
  if (base === undefined) throw new Error(`There is no workload ${name}.`);
  const workload = { ...base, connections: workers * load.connections, requests: workers * load.requests };
  const round = await measure(program, gateway, { workload, pair });
  const { failures, failure } = round.driven;
  if (failures > 0) throw new Error(`${failures} of ${workload.requests} requests failed with ${workers} workers: ${failure}`);
  return round;
}

function tableOf(rounds: readonly (readonly Round[])[]): string {
  const rates = rounds.map((each) => median(each.map(({ driven }) => driven.perSecond)));
  const rows = rounds.map((each, index) => {
    const rate = rates[index] ?? 0;
    const cpuMs = (part: string) => median(each.map((round) => round.cpuMs[part] ?? 0));
    return [
      String(WORKERS[index]),
      rate.toFixed(0),
      (rate / (rates[0] ?? 0)).toFixed(2),
      cpuMs("extproc").toFixed(2),
      ((rate * cpuMs("extproc")) / 1000).toFixed(2),
      ((rate * cpuMs("envoy")) / 1000).toFixed(2),
    ];
  });
  return markdownTable(["workers", "requests/s", "×", "extproc CPU ms", "cores of extproc", "cores of Envoy"], rows);
}
