import { readFile, writeFile } from "node:fs/promises";
import process from "node:process";
import { parseOptions } from "./options.ts";
import { insertReport, reportTable } from "./report.ts";
import { runChaos } from "./run.ts";

/** `npm run chaos`: everything fails in turn under load, and each request is accounted for. */
const { minutes, seed, workers, isReport } = parseOptions(process.argv.slice(2));
const startedAt = performance.now();
const progress = (line: string) => process.stderr.write(`${Math.round((performance.now() - startedAt) / 1000)} s  ${line}\n`);
progress(`seed ${seed}`);
const { rows, unexplained } = await runChaos({
  seed,
  workers,
  attackMs: 3_000,
  loadMs: minutes * 60_000,
  maxAwayMs: 15_000,
  quietMs: 3_000,
  onProgress: progress,
});
const table = reportTable(rows);
process.stdout.write(`${table}\n\n${unexplained.length} unexplained, seed ${seed}\n`);
for (const line of unexplained.slice(0, 100)) process.stdout.write(`- ${line}\n`);
if (isReport) {
  const page = new URL("../../docs/operating.md", import.meta.url);
  const report = `\n\`npm run chaos -- --minutes ${minutes} --seed ${seed}\`:\n\n${table}\n`;
  await writeFile(page, insertReport(await readFile(page, "utf8"), report));
}
process.exitCode = unexplained.length === 0 ? 0 : 1;
