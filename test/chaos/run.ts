import { setTimeout as sleep } from "node:timers/promises";
import { createAccount } from "../../ledger/accounts.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import type { Database } from "../../ledger/database.ts";
import { createApiKey } from "../../ledger/keys.ts";
import { seeded } from "../fuzz/harness-mutate.ts";
import { startSupervisedStack, type SupervisedStack } from "../support/supervised/supervised-stack.ts";
import { auditBooks, readBooked, type Booked } from "./books.ts";
import { judge } from "./judge.ts";
import { createLoad, type Asked, type Customer } from "./load.ts";
import { makeModels } from "./models.ts";
import { createPages } from "./pages.ts";
import { createProcessFaults, PROCESS_FAULTS, type ProcessFault } from "./process-faults.ts";
import { createTally, type Row } from "./report.ts";
import { compareHoldings, readHoldings } from "./resources.ts";
import { untilAtRest } from "./rest.ts";
import { startUpstream, type Delivery } from "./upstream.ts";
import { NO_FAULT, UPSTREAM_FAULTS, type Result } from "./upstream-faults.ts";

export interface ChaosOptions {
  seed: number;
  /** How long faults come. */
  loadMs: number;
  /** Requests at once. */
  workers: number;
  /** How long a process is away or stopped at most. */
  mostAwayMs: number;
  quietMs: number;
  onProgress: (line: string) => void;
}

export interface ChaosReport {
  rows: readonly Row[];
  /** What nothing explains: of single requests, of the books, of what processes hold. Empty where all is well. */
  unexplained: readonly string[];
}

const WARM_UP_MS = 10_000;
const PROGRESS_MS = 10_000;
const RICH_NANO_USD = 1_000_000_000_000_000n;
/** Runs out within seconds, and comes again. */
const THIN = { row: "credit runs out", name: "thin", creditNanoUsd: 20_000_000n, everyMs: 10_000, workers: 2 } as const;
/** For each request at once a stretch of 256 tokens, and the piece that was on its way (docs/billing.md). */
const OVERDRAFT_NANO_USD = BigInt(THIN.workers) * (256n + 64n) * 4_000n;
/** Connections, keys and prices are back a little after the process is. */
const GRACE_MS = 2_000;

/** Starts everything, lets everything fail in turn, and accounts for each request. */
export async function runChaos(options: ChaosOptions): Promise<ChaosReport> {
  const { seed, loadMs, workers, mostAwayMs, quietMs, onProgress } = options;
  const upstream = await startUpstream();
  const models = await makeModels(upstream.url);
  const complaints: string[] = [];
  const stack = await startSupervisedStack({
    planes: 1,
    manifestsDirectory: models.directory,
    onComplaint: (part, message) => complaints.push(`${part}: ${message}`),
  });
  const [plane] = stack.planes;
  if (plane === undefined) throw new Error("the stack has no data plane");
  const members = [stack.postgres, stack.operator, stack.dashboard, plane.extproc, plane.envoy];

  try {
    await postCredit(stack.database, { accountId: "demo", kind: "grant", amountNanoUsd: RICH_NANO_USD, reference: "chaos" });
    const customers: Customer[] = [
      { apiKey: stack.apiKey, isThin: false, workers },
      { apiKey: await createThinCustomer(stack), isThin: true, workers: THIN.workers },
    ];
    const load = createLoad({ baseUrl: plane.baseUrl, customers, random: seeded(seed) });
    const faults = createProcessFaults({ stack, random: seeded(seed + 1), mostAwayMs, quietMs, onProgress });
    const pages = createPages(plane.baseUrl);

    onProgress("warming up");
    await load.run(AbortSignal.timeout(WARM_UP_MS), NO_FAULT);
    await untilAtRest(stack, plane, upstream);
    const before = await readHoldings(members);

    const time = AbortSignal.timeout(loadMs);
    const telling = setInterval(() => onProgress(`${load.asked.length} requests`), PROGRESS_MS);
    const feeding = feedThin(stack.database, time);
    await Promise.all([load.run(time), faults.run(time), pages.run(time)]).finally(() => clearInterval(telling));
    await feeding;

    onProgress("settling");
    const left = await untilAtRest(stack, plane, upstream).then(
      () => [],
      (error: unknown) => [`not at rest: ${String(error)}`],
    );
    const after = await readHoldings(members);
    for (const [name, { memoryMiB, descriptors }] of after)
      onProgress(
        `${name}: ${Math.round(memoryMiB)} MiB, ${descriptors} descriptors; before ${Math.round(before.get(name)?.memoryMiB ?? 0)} MiB, ${before.get(name)?.descriptors ?? 0}`,
      );
    const booked = await readBooked(stack.database);
    const accounted = account({ asked: load.asked, deliveries: upstream.deliveries, booked, happened: faults.happened });
    for (const { name, result, problems } of pages.judge(faults.happened)) accounted.add(name, result, problems);
    return {
      rows: accounted.rows,
      unexplained: [
        ...accounted.unexplained,
        ...left,
        ...(await auditBooks(stack.database, OVERDRAFT_NANO_USD)),
        ...compareHoldings(before, after),
        ...complaints.filter(
          (line) => line.includes("failed inside the gateway") || line.includes("outside its own error handling"),
        ),
      ],
    };
  } finally {
    await stack.stop();
    await upstream.stop();
    await models.remove();
  }
}

interface Sides {
  asked: readonly Asked[];
  deliveries: readonly Delivery[];
  booked: ReadonlyMap<string, Booked>;
  happened: readonly ProcessFault[];
}

/** Puts the sides of each request together. */
function account({ asked, deliveries, booked, happened }: Sides) {
  const unexplained: string[] = [];
  const names = [...UPSTREAM_FAULTS.map(({ name }) => name), "client leaves", "client reads slowly", THIN.row, ...PROCESS_FAULTS];
  const tally = createTally(names);
  const byNumber = Map.groupBy(deliveries, ({ number }) => number);
  const known = new Set<string>();

  function add(name: string, result: Result, problems: readonly string[]): void {
    tally.count(name, result, problems.length === 0);
    unexplained.push(...problems.map((problem) => `${name}: ${problem}`));
  }

  for (const each of asked) {
    const { question, seen } = each;
    const own = byNumber.get(question.number) ?? [];
    const ids = new Set([seen.requestId, ...own.map(({ requestId }) => requestId)].filter((id) => id !== undefined));
    for (const id of ids) known.add(id);
    const disturbances = happened.filter(({ fromMs, untilMs }) => fromMs <= seen.endedMs && seen.startedMs <= untilMs + GRACE_MS);
    const rows = [...ids].map((id) => booked.get(id)).filter((row) => row !== undefined);
    const problems = judge({ ...each, deliveries: own, booked: rows, disturbances });
    const where = `${question.fault}, ${question.interface}, ${question.model}, ${question.isStream ? "stream" : "whole"}, ${[...ids].join(" ")}`;
    add(
      rowOf(each, disturbances),
      seen.result,
      problems.map((problem) => `${problem} (${where})`),
    );
  }
  for (const [id, { chargeNanoUsd }] of booked)
    if (!known.has(id) && chargeNanoUsd > 0n) unexplained.push(`${id} is charged, and nobody asked or answered`);
  return {
    add,
    unexplained,
    get rows() {
      return tally.rows;
    },
  };
}

/** A request is counted once: under the process that failed, else under what its caller or its model server did. */
function rowOf({ fault, manner, isThin }: Asked, disturbances: readonly ProcessFault[]): string {
  const disturbance = disturbances.at(-1);
  if (disturbance !== undefined) return disturbance.name;
  if (isThin) return THIN.row;
  return manner === "reads on" ? fault.name : `client ${manner}`;
}

async function createThinCustomer({ database, pepper }: SupervisedStack): Promise<string> {
  const { name } = THIN;
  await createAccount(database, { id: name, name });
  return (await createApiKey(database, { accountId: name, name, pepper })).value;
}

/** Adds credit now and then; while the database is away, not. */
async function feedThin(database: Database, signal: AbortSignal): Promise<void> {
  const { name: accountId, creditNanoUsd: amountNanoUsd, everyMs } = THIN;
  for (let round = 0; !signal.aborted; round++) {
    const credit = { accountId, kind: "grant", amountNanoUsd, reference: `chaos ${round}` } as const;
    await postCredit(database, credit).catch(() => undefined);
    await sleep(everyMs, undefined, { signal }).catch(() => undefined);
  }
}
