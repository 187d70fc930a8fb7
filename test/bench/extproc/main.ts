import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import process from "node:process";
import { EXTPROC_FLAGS } from "../../../local/parts.ts";
import { freePorts, LOOPBACK } from "../../../local/process/ports.ts";
import { markdownTable } from "../../support/documents/markdown-table.ts";
import { eventually } from "../../support/eventually.ts";
import { scrape } from "../../support/stacks/metrics.ts";
import { startBenchStack } from "../gateways/bench-stack.ts";
import { startChild, type Child } from "../gateways/child.ts";
import { readUse } from "../processes.ts";
import { median } from "../report.ts";
import { drive } from "./drive.ts";
import { loadsFor, type ExtprocLoad } from "./load.ts";
import { allocatedBytes } from "./allocations.ts";

/**
 * `npm run bench:extproc -- [CHECKOUT…]`: CPU time and allocated bytes of extproc for one request, without Envoy: Envoy's messages
 * are repeated. Other checkouts of this repository, with their packages, are measured in turn with this one, so that two states of
 * the code see the same weather. Allocated bytes hardly depend on it.
 */
const ROUNDS = 4;

interface Program {
  name: string;
  socket: string;
  inspectorPort: number;
  adminUrl: string;
  child: Child;
}

const own = path.join(import.meta.dirname, "../../..");
const directory = await mkdtemp(path.join(tmpdir(), "model-gateway-bench-"));
const { stack, keyFile } = await startBenchStack("extproc", { upstreamUrl: `http://${LOOPBACK}:9`, directory });
const programs: Program[] = [];
try {
  const environment = await environmentOf(stack.pids["extproc"] ?? 0);
  for (const checkout of [own, ...process.argv.slice(2)]) programs.push(await start(checkout, environment));
  for (const load of loadsFor(await readFile(keyFile, "utf8"))) process.stdout.write(`\n${load.name}\n${await compare(load)}\n`);
} finally {
  for (const { child } of programs) await child.stop();
  await stack.stop();
  await rm(directory, { recursive: true, force: true });
}

/** What the stack's own extproc was started with: its database and its secrets. */
async function environmentOf(pid: number): Promise<Record<string, string>> {
  const settings = (await readFile(`/proc/${pid}/environ`, "utf8")).split("\0").filter((setting) => setting.includes("="));
  return Object.fromEntries(
    settings.map((setting) => [setting.slice(0, setting.indexOf("=")), setting.slice(setting.indexOf("=") + 1)]),
  );
}

async function start(checkout: string, environment: Readonly<Record<string, string>>): Promise<Program> {
  const name = `${programs.length}`;
  const socket = path.join(directory, `${name}.sock`);
  const [adminPort = 0, inspectorPort = 0] = await freePorts(2);
  const adminUrl = `http://${LOOPBACK}:${adminPort}`;
  const child = await startChild({
    name: `extproc of ${checkout}`,
    program: process.execPath,
    parameters: [`--inspect=${LOOPBACK}:${inspectorPort}`, ...EXTPROC_FLAGS, path.join(checkout, "extproc/main.ts")],
    environment: {
      ...environment,
      EXTPROC_LISTEN: `unix:${socket}`,
      ADMIN_PORT: String(adminPort),
      JOURNAL_DIRECTORY: path.join(directory, `journal-${name}`),
    },
    readyUrl: `${adminUrl}/readyz`,
    isReady: (response) => response.ok,
    logFile: path.join(directory, `${name}.log`),
  });
  return { name: checkout, socket, inspectorPort, adminUrl, child };
}

async function compare(load: ExtprocLoad): Promise<string> {
  const rounds = programs.map((): number[] => []);
  for (let round = 0; round <= ROUNDS; round++) {
    for (const [index, program] of programs.entries()) {
      const before = await readUse([program.child.pid]);
      await run(program, load);
      const after = await readUse([program.child.pid]);
      // The compilers are busy with the first.
      if (round > 0) rounds[index]?.push(((after.cpuMs - before.cpuMs) * 1000) / load.requests);
    }
  }
  const rows: string[][] = [];
  for (const [index, program] of programs.entries()) {
    const bytes = await allocatedBytes(program.inspectorPort, () => run(program, load));
    rows.push([program.name, String(Math.round(median(rounds[index] ?? []))), (bytes / load.requests / 1024).toFixed(1)]);
  }
  return markdownTable(["", "CPU µs", "allocated KiB"], rows);
}

/** With what follows a request: its settlement. */
async function run({ socket, adminUrl }: Program, load: ExtprocLoad): Promise<void> {
  await drive(socket, load);
  await eventually(async () => {
    const queued = (await scrape(adminUrl)).get("gateway_queued_settlements");
    if (queued !== 0) throw new Error(`${queued} settlements are not written yet`);
  });
}
