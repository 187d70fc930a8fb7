import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { markdownTable } from "../support/documents/markdown-table.ts";
import { barChart, type BarGroup } from "./chart.ts";
import { PAIRS } from "./pairs.ts";
import type { Summary } from "./report.ts";
import { readResults, type Result } from "./results.ts";
import { WORKLOADS } from "./workloads.ts";

const PAGE = fileURLToPath(new URL("../../docs/performance.md", import.meta.url));
const PICTURE = fileURLToPath(new URL("../../docs/pictures/performance.svg", import.meta.url));
const [BEGIN, END] = ["<!-- results: written by the bench -->", "<!-- end of results -->"];

const OURS = "Model Gateway";
const FLOOR = "Floor";
const PEER = "Portkey";
const LEGEND = ["Envoy", "extproc", "the rest, or the peer"];

/** Writes the tables of docs/performance.md and its picture from all results that were kept. */
export async function writePage(): Promise<void> {
  const order = WORKLOADS.flatMap(({ name }) => PAIRS.map(({ client, upstream }) => caseName(name, { client, upstream })));
  const results = (await readResults()).toSorted((a, b) => order.indexOf(a.name) - order.indexOf(b.name));
  const text = await readFile(PAGE, "utf8");
  const [before, after] = [text.indexOf(BEGIN), text.indexOf(END)];
  if (before < 0 || after < 0) throw new Error("docs/performance.md has lost the marks between which its results stand.");
  const tables = [overview(results), ...results.map(section)].join("\n\n");
  await writeFile(PAGE, `${text.slice(0, before)}${BEGIN}\n\n${tables}\n\n${text.slice(after)}`);
  await writeFile(PICTURE, barChart(results.map(bars), LEGEND));
}

export function caseName(workload: string, { client, upstream }: { client: string; upstream: string }): string {
  return `${workload}, ${client} → ${upstream}`;
}

/** This gateway's ratios, case by case. */
function overview(results: readonly Result[]): string {
  const rows = results.flatMap(({ name, summaries }) => {
    const of = servedOf(summaries);
    const ours = of(OURS);
    return ours === undefined ? [] : [[name, ours.cpuMs.toFixed(2), ...ratios(ours, [of(FLOOR), of(PEER)])]];
  });
  return markdownTable(["", "CPU ms", "× floor", `× ${PEER}`], rows);
}

function servedOf(summaries: readonly Summary[]): (gateway: string) => Summary | undefined {
  return (gateway) => summaries.find((each) => each.gateway === gateway && each.refused === null);
}

function ratios({ cpuMs }: Summary, others: readonly (Summary | undefined)[]): string[] {
  return others.map((other) => (other === undefined ? "" : (cpuMs / other.cpuMs).toFixed(2)));
}

const HEAD = ["", "CPU ms", "× floor", `× ${PEER}`, "of it", "added p50 ms", "added p99 ms", "first byte + ms", "memory MiB"];

function section({ name, measured, rounds, summaries }: Result): string {
  const of = servedOf(summaries);
  const rows = summaries.filter(hasProcess).map((each) => {
    if (each.refused !== null) return [each.gateway, "not served", "", "", "", "", "", "", ""];
    const { added } = each;
    return [
      each.gateway,
      each.cpuMs.toFixed(2),
      ...ratios(each, [of(FLOOR), of(PEER)]),
      each.gateway === OURS || each.gateway === FLOOR ? named(each.partsCpuMs, 2) : "",
      ...[added?.p50Ms, added?.p99Ms, added?.firstByteMs].map((value) => value?.toFixed(1) ?? ""),
      named(each.memoryMiB, 0),
    ];
  });
  return `**${name}** (${measured}, ${rounds === 1 ? "one round" : `medians of ${rounds} rounds`})\n\n${markdownTable(HEAD, rows)}`;
}

/** Without a gateway there is none of these numbers. */
function hasProcess({ refused, partsCpuMs }: Summary): boolean {
  return refused !== null || Object.keys(partsCpuMs).length > 0;
}

function bars({ name, summaries }: Result): BarGroup {
  const served = summaries.filter((each) => each.refused === null && hasProcess(each));
  return {
    title: name,
    bars: served.map(({ gateway, cpuMs, partsCpuMs }) => {
      const { envoy = 0, extproc = 0 } = partsCpuMs;
      return { name: gateway, parts: [envoy, extproc, Math.max(0, cpuMs - envoy - extproc)] };
    }),
  };
}

function named(values: Readonly<Record<string, number>>, digits: number): string {
  return Object.entries(values)
    .map(([name, value]) => `${name} ${value.toFixed(digits)}`)
    .join(", ");
}
