import type { Gateway } from "./gateways/gateway.ts";
import type { Driven } from "./load/drive.ts";
import { measure, measurePaced, refusal, type Round } from "./measure.ts";
import type { Pair } from "./pairs.ts";
import type { Workload } from "./workloads.ts";

export interface Case {
  workload: Workload;
  pair: Pair;
}

/** What one gateway did in all rounds of a case. */
export type Compared =
  | { kind: "measured"; gateway: string; rounds: readonly Round[]; paced: readonly Driven[] }
  /** It does not serve this pair. */
  | { kind: "refused"; gateway: string; reason: string };

interface CompareOptions {
  rounds: number;
  progress: (line: string) => void;
  /** Ends it, with an error. */
  signal: AbortSignal;
}

/** All gateways in turns, round by round: what else this machine does hits all of them. */
export async function compare(
  program: string,
  gateways: readonly Gateway[],
  each: Case,
  { rounds, progress, signal }: CompareOptions,
): Promise<Compared[]> {
  const entries = [];
  for (const gateway of gateways) entries.push(await prepare(program, gateway, each, signal));
  for (let round = 0; round < rounds; round++) {
    for (const { gateway, reason, measured, paced } of entries) {
      if (reason !== null) continue;
      const one = await measure(program, gateway, each, signal);
      const { failures, failure } = one.driven;
      if (failures > 0) progress(`  ${gateway.name}: ${failures} of ${each.workload.requests} failed: ${failure}`);
      measured.push(one);
      if (each.workload.rate !== null) paced.push(await measurePaced(program, gateway, each, signal));
    }
  }
  return entries.map(({ gateway: { name }, reason, measured, paced }) =>
    reason === null ? { kind: "measured", gateway: name, rounds: measured, paced } : { kind: "refused", gateway: name, reason },
  );
}

async function prepare(program: string, gateway: Gateway, each: Case, signal: AbortSignal) {
  const reason = await refusal(program, gateway, each, signal);
  // A round that does not count: compilers of all run times have their say before anything is measured.
  if (reason === null) await measure(program, gateway, each, signal);
  const measured: Round[] = [];
  const paced: Driven[] = [];
  return { gateway, reason, measured, paced };
}
