import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";
import { parseArgs, promisify } from "node:util";
import { cacheDirectory } from "../../local/cache-directory.ts";
import { findBase, requireTools, SUITES } from "./base.ts";
import { readHostSettings } from "./host.ts";
import { EVERY_NPM, listTargets } from "./matrix.ts";
import { readCommands } from "./readme.ts";
import { openRoom } from "./room.ts";
import { installToolchain, toolchainName } from "./toolchain.ts";
import { walk, type Step } from "./walk.ts";

/**
 * `npm run test:bare-roots`: walks the README's two commands, as they are committed, in Debian roots that have only what
 * the README lists. Needs root, debootstrap and the package registries. Ends with 1 if a step went wrong.
 */
const { values } = parseArgs({
  options: {
    /** bookworm, trixie */
    suite: { type: "string", multiple: true, default: ["bookworm", "trixie"] },
    /** Major versions; without it, those that each npm supports. */
    node: { type: "string", multiple: true, default: [] },
    npm: { type: "string", multiple: true, default: EVERY_NPM },
    /** start, test */
    only: { type: "string" },
    /** Vitest projects that the second command runs; without it, all. */
    project: { type: "string", multiple: true, default: [] },
    /** Flags of `npm ci` in the first command, such as --omit=dev. */
    install: { type: "string", default: "" },
    /** Walks as root. */
    root: { type: "boolean", default: false },
    /** Where the roots are kept. */
    cache: { type: "string" },
  },
});

const REPOSITORY = fileURLToPath(new URL("../..", import.meta.url));
const log = (line: string) => console.log(`${new Date().toISOString().slice(11, 19)} ${line}`);
/** Printed of a step that failed, besides the lines that name a failed test or an error. */
const LAST_LINES = 60;
const FAILURE = /\bFAIL\b|Error:/;
const rows: string[][] = [];
let failures = 0;
const interruption = new AbortController();
const { signal } = interruption;
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => interruption.abort());

try {
  await requireTools();
  const targets = listTargets({ suites: values.suite, node: values.node, npm: values.npm });
  const cache = values.cache ?? path.join(cacheDirectory(process.env), "bare-roots");
  await mkdir(cache, { recursive: true });
  const host = await readHostSettings(process.env);
  const commands = await readCommands(REPOSITORY);
  const start = commands.start.replace("npm ci", `npm ci ${values.install}`.trim());
  const test = [
    commands.test,
    ...(values.project.length === 0 ? [] : ["--"]),
    ...values.project.flatMap((p) => ["--project", p]),
  ];
  const scratch = await mkdtemp(path.join(cache, "bundle-"));
  try {
    const bundle = path.join(scratch, "repository.bundle");
    await promisify(execFile)("git", ["-C", REPOSITORY, "bundle", "create", "--quiet", bundle, "HEAD"]);
    for (const { suite, toolchain } of targets) {
      const target = `${SUITES[suite]}, ${toolchainName(toolchain)}${values.root ? ", as root" : ""}`;
      const base = await findBase({ suite, hasNode: toolchain.kind === "debian", cache, host, onProgress: log, signal });
      const room = await openRoom({
        base,
        bundle,
        walker: values.root ? "root" : "newcomer",
        cache,
        host,
        signal,
        prepare: (upper) =>
          toolchain.kind === "debian" ? Promise.resolve() : installToolchain(upper, toolchain, { cache, onProgress: log }),
      });
      try {
        log(`${target} …`);
        const steps = await walk(room, {
          start: values.only === "test" ? undefined : start,
          test: values.only === "start" ? undefined : test.join(" "),
        });
        for (const step of steps) record(target, step);
      } finally {
        await room.remove();
      }
    }
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
  console.log(`\n${table(["Root and versions", "Command", "Seconds", "Result"], rows)}`);
  process.exitCode = failures === 0 ? 0 : 1;
} catch (error) {
  if (signal.aborted) console.error("Interrupted; nothing stays but the cached roots.");
  else console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function record(target: string, step: Step): void {
  rows.push([target, step.title, step.seconds.toFixed(0), step.result]);
  log(`  ${step.title}: ${step.result} (${step.seconds.toFixed(0)} s)`);
  if (step.isGood) return;
  failures += 1;
  const end = step.lines.slice(-LAST_LINES);
  // Of many failures the first ones are long past when a run ends.
  const earlier = step.lines.slice(0, -LAST_LINES).filter((line) => FAILURE.test(line));
  for (const line of [...earlier, ...end]) console.log(`    ${line}`);
}

function table(head: readonly string[], lines: readonly (readonly string[])[]): string {
  const row = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [row(head), row(head.map(() => "---")), ...lines.map(row)].join("\n");
}
