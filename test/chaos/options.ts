import { Command } from "commander";

export interface CommandOptions {
  minutes: number;
  seed: number;
  workers: number;
  /** The table goes into docs/operating.md, too. */
  isReport: boolean;
}

/** Reads the command line; `--help` and mistakes end the process, as commander does. */
export function parseOptions(words: readonly string[]): CommandOptions {
  const { minutes, seed, workers, report } = new Command("npm run chaos --")
    .description("Lets model servers and every process fail under load, and accounts for each request.")
    .option("--minutes <count>", "how long faults are injected", "10")
    .option("--seed <number>", "seed of the requests and faults; random if absent")
    .option("--workers <count>", "requests at once", "16")
    .option("--report", "writes the table into docs/operating.md", false)
    .allowExcessArguments(false)
    .parse(words, { from: "user" })
    .opts<{ minutes: string; seed?: string; workers: string; report: boolean }>();
  return {
    minutes: positive("--minutes", minutes),
    seed: seed === undefined ? Math.floor(Math.random() * 2 ** 32) : positive("--seed", seed),
    workers: positive("--workers", workers),
    isReport: report,
  };
}

function positive(name: string, text: string): number {
  const number = Number(text);
  if (Number.isFinite(number) && number > 0) return number;
  throw new Error(`${name}: ${text} is no number above 0.`);
}
