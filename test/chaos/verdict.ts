import { accountFor, type Sides } from "./account.ts";
import { THIN } from "./customers.ts";
import type { Asked } from "./load.ts";
import type { JudgedPage } from "./pages.ts";
import { PROCESS_FAULTS, type ProcessFault } from "./process-faults.ts";
import { createTally, type Row } from "./report.ts";
import { NO_FAULT, UPSTREAM_FAULTS } from "./upstream-faults.ts";

export interface Verdict {
  rows: readonly Row[];
  /** What nothing explains. Empty where all is well. */
  unexplained: readonly string[];
}

const ROWS = [...UPSTREAM_FAULTS.map(({ name }) => name), "client leaves", "client reads slowly", THIN.row, ...PROCESS_FAULTS];
/** A refusal under strain is documented; a gateway that refuses all it gets is none. */
const MAX_STRAINED = 0.05;

/** Of all requests and pages. */
export function reachVerdict(sides: Sides, pages: readonly JudgedPage[]): Verdict {
  const { requests, unasked } = accountFor(sides);
  const counted = [
    ...requests.map(({ asked, disturbances, problems }) => {
      return { name: rowOf(asked, disturbances), result: asked.seen.result, problems };
    }),
    ...pages,
  ];
  const tally = createTally(ROWS);
  for (const { name, result, problems } of counted) tally.count(name, result, problems.length === 0);
  const problems = counted.flatMap(({ name, problems }) => problems.map((problem) => `${name}: ${problem}`));
  return { rows: tally.rows, unexplained: [...problems, ...unasked, ...judgeStrain(tally.rows)] };
}

/** Without these there is no answer; the others may be away. */
const ON_THE_PATH: readonly ProcessFault["member"][] = ["extproc", "envoy"];

/** A request is counted once: under the process that failed, or under what its model server or its caller did. */
function rowOf({ fault, manner, isThin }: Asked, disturbances: readonly ProcessFault[]): string {
  const onThePath = disturbances.findLast(({ member }) => ON_THE_PATH.includes(member));
  if (onThePath !== undefined) return onThePath.name;
  if (isThin) return THIN.row;
  if (manner !== "reads on") return `client ${manner}`;
  return fault.name === NO_FAULT ? (disturbances.at(-1)?.name ?? NO_FAULT) : fault.name;
}

function judgeStrain(rows: readonly Row[]): string[] {
  const undisturbed = rows.find(({ name }) => name === NO_FAULT);
  if (undisturbed === undefined || undisturbed.results.refused <= undisturbed.requests * MAX_STRAINED) return [];
  return [`${undisturbed.results.refused} of ${undisturbed.requests} requests were refused although nothing was wrong`];
}
