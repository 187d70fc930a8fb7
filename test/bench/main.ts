import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { createStopSignals } from "../../local/process/stop-signals.ts";
import { direct } from "./gateways/direct.ts";
import { startFloor } from "./gateways/floor.ts";
import type { Gateway } from "./gateways/gateway.ts";
import { startLiteLlm } from "./gateways/litellm.ts";
import { startModelGateway } from "./gateways/model-gateway.ts";
import { startPlainEnvoy } from "./gateways/plain-envoy.ts";
import { startPortkey } from "./gateways/portkey.ts";
import { startLiteLlmRs } from "./gateways/litellm-rs.ts";
import { startSmg } from "./gateways/smg.ts";
import { loadProgram } from "./load/program.ts";
import { startUpstream } from "./load/upstream.ts";
import { compare, type Case } from "./compare.ts";
import { parseOptions, type Peer } from "./options.ts";
import { caseName, writePage } from "./page.ts";
import { PAIRS } from "./pairs.ts";
import { caseTable, summarize } from "./report.ts";
import { keepResult } from "./results.ts";
import { WORKLOADS } from "./workloads.ts";

/**
 * `npm run bench`: each load through each gateway in turns, so that all of them see the same weather. Read the CPU time and
 * its ratios: rates and delays share this machine with the driver and the model server. With `--keep`, docs/performance.md
 * gets what was measured. Ctrl-C stops what it has started; a second one does not wait for that.
 */
const { signal } = createStopSignals(process, () => process.exit(1));
const options = parseOptions(process.argv.slice(2));
const progress = (line: string) => process.stderr.write(`${line}\n`);
const program = await loadProgram();
const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-bench-"));
const upstream = await startUpstream(program);
const gateways: Gateway[] = [direct(upstream.url)];
try {
  const setting = { upstreamUrl: upstream.url, directory };
  const ours = options.workers.map((workers) => (at: typeof setting) => startModelGateway(at, { workers }));
  const starts = [startPlainEnvoy, startFloor, ...ours, ...options.peers.map(startOf)];
  for (const start of starts) {
    signal.throwIfAborted();
    gateways.push(await start(setting));
  }
  const cases = WORKLOADS.flatMap((workload) => PAIRS.map((pair): Case => ({ workload, pair })));
  for (const each of cases) {
    const name = caseName(each.workload.name, each.pair);
    if (!options.only.test(name)) continue;
    progress(name);
    const workload = {
      ...each.workload,
      requests: Math.round(each.workload.requests * (each.workload.gapMs > 0 ? 1 : options.share)),
    };
    const results = await compare(program, gateways, { ...each, workload }, { rounds: options.rounds, progress, signal });
    const summaries = summarize(results);
    process.stdout.write(`\n${name}\n${caseTable(summaries)}\n`);
    if (!options.isKept) continue;
    await keepResult({ name, measured: new Date().toISOString().slice(0, 10), rounds: options.rounds, summaries });
    await writePage();
  }
} catch (error) {
  if (!signal.aborted) throw error;
  progress("Stopping …");
  process.exitCode = 1;
} finally {
  for (const gateway of gateways.reverse()) await gateway.stop();
  await upstream.stop();
  await rm(directory, { recursive: true, force: true });
}

function startOf(peer: Peer): typeof startPortkey {
  return { portkey: startPortkey, litellm: startLiteLlm, "litellm-rs": startLiteLlmRs, smg: startSmg }[peer];
}
