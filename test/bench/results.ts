import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import * as z from "zod";
import type { Summary } from "./report.ts";

/** One case as it was measured last. */
export interface Result {
  /** Workload and pair. */
  name: string;
  /** ISO 8601, the day alone. */
  measured: string;
  rounds: number;
  summaries: readonly Summary[];
}

const FILE = fileURLToPath(new URL("results.json", import.meta.url));

const numbers = z.record(z.string(), z.number());
const resultSchema = z.strictObject({
  name: z.string(),
  measured: z.iso.date(),
  rounds: z.int(),
  summaries: z.array(
    z.strictObject({
      gateway: z.string(),
      refused: z.string().nullable(),
      perSecond: z.number(),
      cpuMs: z.number(),
      partsCpuMs: numbers,
      added: z.strictObject({ p50Ms: z.number(), p99Ms: z.number(), firstByteMs: z.number() }).nullable(),
      memoryMiB: numbers,
      loopDelayMs: z.number().nullable(),
      failures: z.int(),
    }),
  ),
});

/** What the page on performance is made from; none before the first run that is kept. */
export async function readResults(): Promise<Result[]> {
  const text = await readFile(FILE, "utf8").catch(() => "[]");
  return z.array(resultSchema).parse(JSON.parse(text));
}

/** A case that was measured again takes the place of its earlier result. */
export async function keepResult(result: Result): Promise<void> {
  const others = (await readResults()).filter(({ name }) => name !== result.name);
  await writeFile(FILE, `${JSON.stringify([...others, result], roundNumbers, 2)}\n`);
}

/** No more digits than mean something. */
function roundNumbers(_: string, value: unknown): unknown {
  return typeof value === "number" ? Number(value.toPrecision(4)) : value;
}
