import assert from "node:assert/strict";
import { setTimeout as sleep } from "node:timers/promises";
import { createAccount } from "../../ledger/accounts.ts";
import { postCredit } from "../../ledger/credit/entries.ts";
import type { Database } from "../../ledger/database.ts";
import { createApiKey } from "../../ledger/keys.ts";
import { seeded } from "../fuzz/harness-mutate.ts";
import { eventually } from "../support/eventually.ts";
import { startSupervisedStack, type SupervisedStack } from "../support/supervised/supervised-stack.ts";
import { accountFor } from "./account.ts";
import { auditBooks, readBooked } from "./books.ts";
import { createLoad, type Asked, type Customer } from "./load.ts";
import { makeModels } from "./models.ts";
import { createPages } from "./pages.ts";
import { createProcessFaults, PROCESS_FAULTS, type ProcessFault } from "./process-faults.ts";
import { createTally, type Row } from "./report.ts";
import { compareHoldings, readHoldings } from "./resources.ts";
import { untilAtRest } from "./rest.ts";
import { startUpstream } from "./upstream.ts";
import { NO_FAULT, UPSTREAM_FAULTS } from "./upstream-faults.ts";

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
const ROWS = [...UPSTREAM_FAULTS.map(({ name }) => name), "client leaves", "client reads slowly", THIN.row, ...PROCESS_FAULTS];
/** What is logged of a fault of the program's own. */
const BUGS = ["failed inside the gateway", "outside its own error handling", "is given up"];

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
      { apiKey: await createThinCustomer(stack, plane.baseUrl), isThin: true, workers: THIN.workers },
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
    const { requests, unasked } = accountFor({
      asked: load.asked,
      deliveries: upstream.deliveries,
      booked,
      happened: faults.happened,
    });
    const counted = [
      ...requests.map(({ asked, disturbances, problems }) => ({
        name: rowOf(asked, disturbances),
        result: asked.seen.result,
        problems,
      })),
      ...pages.judge(faults.happened),
    ];
    const tally = createTally(ROWS);
    for (const { name, result, problems } of counted) tally.count(name, result, problems.length === 0);
    return {
      rows: tally.rows,
      unexplained: [
        ...counted.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`)),
        ...unasked,
        ...judgeStrain(tally.rows),
        ...left,
        ...(await auditBooks(stack.database, OVERDRAFT_NANO_USD)),
        ...compareHoldings(before, after),
        ...complaints.filter((line) => BUGS.some((bug) => line.includes(bug))),
      ],
    };
  } finally {
    await stack.stop();
    await upstream.stop();
    await models.remove();
  }
}

/** A refusal under strain is documented; a gateway that refuses all it gets is none. */
const MOST_STRAINED = 0.05;

function judgeStrain(rows: readonly Row[]): string[] {
  const undisturbed = rows.find(({ name }) => name === NO_FAULT);
  if (undisturbed === undefined || undisturbed.results.refused <= undisturbed.requests * MOST_STRAINED) return [];
  return [`${undisturbed.results.refused} of ${undisturbed.requests} requests were refused although nothing was wrong`];
}

/** Without these there is no answer; the others may be away. */
const ON_THE_WAY: readonly ProcessFault["member"][] = ["extproc", "envoy"];

/** A request is counted once: under the process that failed, or under what its model server or its caller did. */
function rowOf({ fault, manner, isThin }: Asked, disturbances: readonly ProcessFault[]): string {
  const onTheWay = disturbances.findLast(({ member }) => ON_THE_WAY.includes(member));
  if (onTheWay !== undefined) return onTheWay.name;
  if (isThin) return THIN.row;
  if (manner !== "reads on") return `client ${manner}`;
  return fault.name === NO_FAULT ? (disturbances.at(-1)?.name ?? NO_FAULT) : fault.name;
}

/** @returns its key, once the gateway knows it. */
async function createThinCustomer({ database, pepper }: SupervisedStack, baseUrl: string): Promise<string> {
  const { name } = THIN;
  await createAccount(database, { id: name, name });
  const { value } = await createApiKey(database, { accountId: name, name, pepper });
  await eventually(async () => {
    const response = await fetch(`${baseUrl}/v1/balance`, { headers: { "x-api-key": value } });
    assert.equal(response.status, 200);
  });
  return value;
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
