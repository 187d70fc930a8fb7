import process from "node:process";
import { expect, inject, test } from "vitest";
import { reportTable } from "../chaos/report.ts";
import { runChaos } from "../chaos/run.ts";

/** The short form of `npm run chaos`. What is asked and what fails when follows from the seed, how it meets does not. */
const seed = Number(process.env["CHAOS_SEED"] ?? "1");
/** Enough for each fault of a process once. */
const LOAD_MS = inject("isNight") ? 600_000 : 50_000;
/** Requests at once: by day as many as each fault needs to meet some of each kind. */
const WORKERS = inject("isNight") ? 12 : 5;
/** By day half as long: an attacker does the same from the first moment to the last. */
const ATTACK_MS = inject("isNight") ? 3_000 : 1_500;

test(
  "model servers and every process fail in turn under load, and each request is accounted for (S22, S28, S30)",
  { timeout: 1_800_000 },
  async () => {
    console.log(`CHAOS_SEED=${seed}`);
    const lines: string[] = [];
    const { rows, unexplained } = await runChaos({
      seed,
      workers: WORKERS,
      attackMs: ATTACK_MS,
      loadMs: LOAD_MS,
      maxAwayMs: 4_000,
      quietMs: 800,
      onProgress: (line) => lines.push(line),
    });
    expect(unexplained, [`CHAOS_SEED=${seed}`, ...lines, reportTable(rows)].join("\n")).toEqual([]);
    expect(rows.reduce((sum, { requests }) => sum + requests, 0)).toBeGreaterThan(200);
  },
);
