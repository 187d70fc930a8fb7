import type { Driven } from "../load/drive.ts";
import type { Flooded } from "../load/flood.ts";

/** The measured account's requests of one round. */
export interface Round {
  json: Driven;
  stream: Driven;
}

type Found = Readonly<Record<"alone" | "past" | "through", readonly Round[]>>;

/** Medians over the rounds, and the ratio of what the gateway adds to what the machine does. */
export function describeRounds(found: Found): string {
  const cell = (rounds: readonly Round[], kind: keyof Round, at: "p50" | "p99") =>
    median(rounds.map((round) => round[kind].wholeMs[at]));
  const columns = (["json", "stream"] as const).flatMap((kind) => (["p50", "p99"] as const).map((at) => ({ kind, at })));
  const line = (name: string, cells: readonly string[]) => `| ${name} | ${cells.join(" | ")} |`;
  const rows = Object.entries(found).map(([name, rounds]) => {
    const failed = rounds.flatMap(({ json, stream }) => [json, stream]).filter(({ failures }) => failures > 0);
    const failures = failed.reduce((sum, each) => sum + each.failures, 0);
    return line(name, [
      ...columns.map(({ kind, at }) => `${cell(rounds, kind, at).toFixed(1)} ms`),
      failures === 0 ? "0" : `${failures}: ${failed[0]?.failure ?? ""}`,
    ]);
  });
  const ratio = ({ kind, at }: (typeof columns)[number]) => cell(found.through, kind, at) / cell(found.past, kind, at);
  return [
    line("the paying account", [...columns.map(({ kind, at }) => `${kind} ${at}`), "failures"]),
    line(
      "---",
      [...columns, ""].map(() => "---"),
    ),
    ...rows,
    line("through / past", [...columns.map((column) => `× ${ratio(column).toFixed(2)}`), ""]),
  ].join("\n");
}

/** What the flood got, all rounds together. */
export function describeFlooded(all: readonly Flooded[]): string {
  const statuses = new Map<string, number>();
  for (const { statuses: each } of all)
    for (const [status, count] of Object.entries(each)) statuses.set(status, (statuses.get(status) ?? 0) + count);
  const seconds = all.reduce((sum, each) => sum + each.seconds, 0);
  const bytes = all.reduce((sum, each) => sum + each.bytes, 0);
  const counts = [...statuses].map(([status, count]) => `${count} × ${status}`).join(", ");
  const samples = Object.entries(all.at(-1)?.samples ?? {}).map(([status, text]) => `  ${status}: ${text.trim()}`);
  return [`the flood: ${counts}; ${(bytes / 2 ** 20 / seconds).toFixed(1)} MiB/s, ${seconds.toFixed(0)} s`, ...samples].join(
    "\n",
  );
}

function median(numbers: readonly number[]): number {
  return numbers.toSorted((a, b) => a - b)[Math.floor(numbers.length / 2)] ?? 0;
}
