import { seeded } from "../support/random.ts";
import { startSupervisedStack, type SupervisedStack } from "../support/supervised/supervised-stack.ts";
import { createAttacks, type Attack } from "./attackers.ts";
import { auditBooks, readBooked } from "./books.ts";
import type { Seen } from "./caller.ts";
import { createCustomers, feedThin, OVERDRAFT_NANO_USD } from "./customers.ts";
import { createKeyMaker } from "./key-maker.ts";
import { createLoad, type Asked } from "./load.ts";
import { makeModels } from "./models.ts";
import { createPages } from "./pages.ts";
import { createProcessFaults } from "./process-faults.ts";
import { describeHoldings, readHoldings, untilGivenBack } from "./resources.ts";
import { untilAtRest } from "./rest.ts";
import { startUpstream, type Upstream } from "./upstream.ts";
import { NO_FAULT } from "./upstream-faults.ts";
import { reachVerdict, type Verdict } from "./verdict.ts";

export interface ChaosOptions {
  seed: number;
  /** How long faults come. */
  loadMs: number;
  /** Requests at once. */
  workers: number;
  /** How long each attacker is at work before that. */
  attackMs: number;
  /** How long a process is away or stopped at most. */
  maxAwayMs: number;
  /** Between two processes. */
  quietMs: number;
  onProgress: (line: string) => void;
}

const WARM_UP_MS = 3_000;
/** What a customer has at once beside an attacker: no flood itself. */
const PAYING_WORKERS = 2;
const PROGRESS_MS = 10_000;

/** Starts everything, lets everything fail in turn, and accounts for each request. */
export async function runChaos(options: ChaosOptions): Promise<Verdict> {
  const upstream = await startUpstream();
  const models = await makeModels(upstream.url);
  const complaints: string[] = [];
  const onComplaint = (part: string, message: string) => void complaints.push(`${part}: ${message}`);
  try {
    const stack = await startSupervisedStack({
      planes: 1,
      hasFullLogDisk: true,
      manifestsDirectory: models.directory,
      onComplaint,
    });
    try {
      const { rows, unexplained } = await wreak(stack, upstream, options);
      return { rows, unexplained: [...unexplained, ...complaints.filter(isBug)] };
    } finally {
      await stack.stop();
    }
  } finally {
    await upstream.stop();
    await models.remove();
  }
}

async function wreak(stack: SupervisedStack, upstream: Upstream, options: ChaosOptions): Promise<Verdict> {
  const { seed, loadMs, workers, attackMs, onProgress } = options;
  const { database } = stack;
  const [plane, planeWithFullLogDisk] = stack.planes;
  if (plane === undefined || planeWithFullLogDisk === undefined) throw new Error("the stack has too few data planes");
  const members = [stack.postgres, stack.operator, stack.dashboard, plane.extproc, plane.envoy];
  const holders = { members, postgres: stack.postgres, database };
  const customers = await createCustomers(stack, plane.baseUrl, workers);
  const load = createLoad({ baseUrl: plane.baseUrl, customers, random: seeded(seed) });
  const faults = createProcessFaults({ stack, random: seeded(seed + 1), ...options });
  const pages = createPages(plane.baseUrl);
  const keyMaker = await createKeyMaker(database, plane.baseUrl);

  onProgress("warming up");
  await load.run(AbortSignal.timeout(WARM_UP_MS), NO_FAULT);
  const losses: string[] = [];
  const attacks: Attack[] = [
    ...(await createAttacks(stack, plane.baseUrl)),
    { name: "a full log disk", baseUrl: planeWithFullLogDisk.baseUrl, run: async () => {} },
  ];
  for (const { name, run, baseUrl } of attacks) {
    onProgress(name);
    const earlier = load.asked.length;
    const attackTime = AbortSignal.timeout(attackMs);
    const elsewhere = baseUrl === undefined ? {} : { baseUrl };
    const paying = { apiKey: stack.apiKey, isThin: false, workers: PAYING_WORKERS, ...elsewhere };
    await Promise.all([run(attackTime), load.run(attackTime, NO_FAULT, [paying])]);
    losses.push(...lossesBeside(name, load.asked.slice(earlier)));
  }
  await planeWithFullLogDisk.envoy.stop();
  const end = await planeWithFullLogDisk.extproc.end("SIGTERM");
  if (!end.endsWith("code 0")) losses.push(`with a full log disk, extproc did not end as it was told: ${end}`);
  await untilAtRest(stack, plane, upstream);
  const before = await readHoldings(holders);

  const time = AbortSignal.timeout(loadMs);
  const telling = setInterval(() => onProgress(`${load.asked.length} requests`), PROGRESS_MS);
  const work = [load.run(time), faults.run(time), pages.run(time), keyMaker.run(time), feedThin(database, time)];
  await Promise.all(work).finally(() => clearInterval(telling));

  onProgress("settling");
  const left = await untilAtRest(stack, plane, upstream).then(
    () => [],
    (error: unknown) => [`not at rest: ${String(error)}`],
  );
  const { after, excess } = await untilGivenBack(before, holders);
  for (const line of describeHoldings(before, after)) onProgress(line);
  const { happened } = faults;
  const booked = await readBooked(database);
  const { rows, unexplained } = reachVerdict({ asked: load.asked, deliveries: upstream.deliveries, booked, happened }, [
    ...pages.judge(happened),
    ...keyMaker.judge(happened),
  ]);
  const books = [...(await auditBooks(database, OVERDRAFT_NANO_USD)), ...(await keyMaker.audit())];
  return { rows, unexplained: [...losses, ...unexplained, ...left, ...books, ...excess] };
}

/**
 * A paying account beside an attacker loses nothing: it is served, never cut off, and never blamed for the strain. A busy machine may
 * still tell it to come again in a moment.
 */
function lossesBeside(attack: string, asked: readonly Asked[]): string[] {
  const lost = asked.filter(({ manner, seen }) => seen.result !== "answered" && manner !== "leaves" && !isAskedToWait(seen));
  return [
    ...(asked.some(({ seen }) => seen.result === "answered")
      ? []
      : [`${attack}: none of ${asked.length} other requests was answered`]),
    ...lost.map(({ seen }) => `${attack}: another account's request was ${seen.result}: ${seen.status} ${seen.codes.join("/")}`),
  ];
}

function isAskedToWait({ status, codes, hasRetryAfter }: Seen): boolean {
  return status !== 429 && codes.includes("overloaded") && hasRetryAfter;
}

/** What is logged of a fault of the program's own. */
function isBug(complaint: string): boolean {
  return ["internal error while handling", "unhandled error while handling", "giving up on a stalled request"].some((bug) =>
    complaint.includes(bug),
  );
}
