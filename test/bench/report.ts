import { markdownTable } from "../support/documents/markdown-table.ts";
import type { Compared } from "./compare.ts";

/** One gateway in one case: medians over its rounds. Delays are against no gateway at all. */
export interface Summary {
  gateway: string;
  /** Why it does not serve this pair; null where it does. */
  refused: string | null;
  perSecond: number;
  /** CPU a request of all its processes. */
  cpuMs: number;
  partsCpuMs: Readonly<Record<string, number>>;
  /** Delay added at a fixed rate; null where the load has a pace of its own, or where there is no gateway. */
  added: { p50Ms: number; p99Ms: number; firstByteMs: number } | null;
  memoryMiB: Readonly<Record<string, number>>;
  loopDelayMs: number | null;
  failures: number;
}

export function summarize(compared: readonly Compared[]): Summary[] {
  const baseline = compared[0];
  return compared.map((each): Summary => {
    if (each.kind === "refused") return { ...NOTHING, gateway: each.gateway, refused: each.reason };
    const { rounds, paced } = each;
    const hasDelay = paced.length > 0 && each !== baseline && baseline?.kind === "measured";
    const added = (read: (driven: (typeof paced)[number]) => number) =>
      median(paced.map(read)) - median(baseline?.kind === "measured" ? baseline.paced.map(read) : []);
    return {
      gateway: each.gateway,
      refused: null,
      perSecond: median(rounds.map(({ driven }) => driven.perSecond)),
      cpuMs: median(rounds.map(({ cpuMs }) => sum(Object.values(cpuMs)))),
      partsCpuMs: mediansByName(rounds.map(({ cpuMs }) => cpuMs)),
      added: hasDelay
        ? {
            p50Ms: added(({ wholeMs }) => wholeMs.p50),
            p99Ms: added(({ wholeMs }) => wholeMs.p99),
            firstByteMs: added(({ firstByteMs }) => firstByteMs.p50),
          }
        : null,
      memoryMiB: mediansByName(rounds.map(({ memoryMiB }) => memoryMiB)),
      loopDelayMs: rounds.some(({ loopDelayMs }) => loopDelayMs !== null)
        ? median(rounds.map(({ loopDelayMs }) => loopDelayMs ?? 0))
        : null,
      failures: sum([...rounds.map(({ driven }) => driven.failures), ...paced.map(({ failures }) => failures)]),
    };
  });
}

const NOTHING = {
  perSecond: 0,
  cpuMs: 0,
  partsCpuMs: {},
  added: null,
  memoryMiB: {},
  loopDelayMs: null,
  failures: 0,
} as const;

const HEAD = [
  "",
  "CPU ms/request",
  "× floor",
  "of it",
  "requests/s",
  "added p50 ms",
  "added p99 ms",
  "first byte + ms",
  "memory MiB",
  "loop p99 ms",
];

export function caseTable(summaries: readonly Summary[]): string {
  const floor = summaries.find(({ gateway }) => gateway === "Floor")?.cpuMs ?? 0;
  return markdownTable(
    HEAD,
    summaries.map((each) => {
      if (each.refused !== null) return [each.gateway, "not served", "", firstLine(each.refused), "", "", "", "", "", ""];
      const { added } = each;
      return [
        each.failures === 0 ? each.gateway : `${each.gateway} (${each.failures} failed)`,
        Object.keys(each.partsCpuMs).length === 0 ? "" : each.cpuMs.toFixed(2),
        floor === 0 || each.cpuMs === 0 ? "" : (each.cpuMs / floor).toFixed(2),
        Object.keys(each.partsCpuMs).length < 2 ? "" : byName(each.partsCpuMs, 2),
        each.perSecond.toFixed(0),
        ...[added?.p50Ms, added?.p99Ms, added?.firstByteMs].map((value) => value?.toFixed(1) ?? ""),
        byName(each.memoryMiB, 0),
        each.loopDelayMs?.toFixed(0) ?? "",
      ];
    }),
  );
}

function firstLine(text: string): string {
  return text.split("\n")[0]?.slice(0, 80) ?? "";
}

function byName(values: Readonly<Record<string, number>>, digits: number): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
    .join(", ");
}

function mediansByName(rounds: readonly Readonly<Record<string, number>>[]): Record<string, number> {
  const names = Object.keys(rounds[0] ?? {});
  return Object.fromEntries(names.map((name) => [name, median(rounds.map((round) => round[name] ?? 0))]));
}

function sum(values: readonly number[]): number {
  return values.reduce((total, each) => total + each, 0);
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? 0;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? 0) + upper) / 2;
}
