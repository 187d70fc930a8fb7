import type { Booked } from "./books.ts";
import type { Asked } from "./load.ts";
import type { ProcessFault } from "./process-faults.ts";
import { answerTo, BYTES_PER_TOKEN } from "./question.ts";
import type { Delivery } from "./delivery.ts";

/** All that is known of one request, from every side. */
export interface Case extends Asked {
  deliveries: readonly Delivery[];
  booked: readonly Booked[];
  /** That happened while it ran. */
  disturbances: readonly ProcessFault[];
}

/** @returns what nothing explains; a request that is accounted for has none. */
export function judge(each: Case): string[] {
  return [...each.seen.faults, ...judgeResult(each), ...judgeText(each), ...judgeBooks(each)];
}

/** The gateway may refuse these at any time, and says when to come back (docs/backends.md). */
const UNDER_STRAIN: readonly string[] = ["overloaded", "rate_limited"];

function judgeResult({ question, fault, manner, hasSpare, isThin, seen, disturbances }: Case): string[] {
  if (seen.result === "refused") {
    if (isThin && seen.codes.includes("insufficient_balance")) return [];
    if (seen.hasRetryAfter && seen.codes.some((code) => UNDER_STRAIN.includes(code))) return [];
    if (isDisturbed(disturbances, "postgres") && seen.codes.includes("billing_unavailable")) return [];
  }
  if (isDisturbed(disturbances, "extproc", "envoy")) return [];
  if (manner === "leaves" && seen.result !== "refused") return [];
  const { results, codes = [] } = question.isStream ? fault.stream : fault.whole;
  // A backend that rests after failures is passed over, and the other one does not fail.
  const isRescued = hasSpare && seen.result === "answered";
  const isToBeRescued = hasSpare && fault.isBeforeAnswer;
  const isExpected = results.includes(seen.result) && !isToBeRescued;
  const isRightRefusal = seen.result !== "refused" || seen.codes.some((code) => codes.some((allowed) => allowed === code));
  if (isRescued || (isExpected && isRightRefusal)) return [];
  return [`${seen.result} ${seen.status ?? "without an answer"} ${seen.codes.join("/")}`];
}

/** Whatever a caller gets is a part of its own answer, in order; what looks whole is whole. */
function judgeText({ question, fault, isThin, seen, booked }: Case): string[] {
  if (seen.hasGarbage && !fault.isGarbage) return ["an event that no client can read"];
  const expected = answerTo(question);
  const isStoppedForCredit = isThin && booked[0]?.outcome === "stopped";
  if (seen.result === "answered" && !isStoppedForCredit)
    return seen.text === expected ? [] : [`another text than the model server's: … ${seen.text.slice(-100)}`];
  return expected.startsWith(seen.text) ? [] : [`a text that is no beginning of the answer: … ${seen.text.slice(-100)}`];
}

function judgeBooks(each: Case): string[] {
  const { deliveries, booked, seen } = each;
  const [row] = booked;
  if (row === undefined) {
    if (deliveries.length > 0) return ["it reached a model server, and no usage says so"];
    return seen.result === "answered" ? ["an answer without usage"] : [];
  }
  return [
    ...(booked.length > 1 ? ["it is booked more than once"] : []),
    ...(row.chargeNanoUsd === row.dueNanoUsd ? [] : [`the charge is ${row.chargeNanoUsd}, due is ${row.dueNanoUsd}`]),
    ...(deliveries.length === 0 && row.chargeNanoUsd > 0n ? ["it is charged, and reached no model server"] : []),
    ...(seen.result === "answered" ? judgeAnswered(each, row) : judgeUnanswered(each, row)),
  ];
}

function judgeAnswered({ deliveries, isThin, disturbances }: Case, { outcome, usage, isEstimated }: Booked): string[] {
  if (outcome === "lost" && isDisturbed(disturbances, "extproc")) return [];
  if (outcome === "stopped" && isThin) return [];
  if (outcome !== "complete") return [`answered, but the usage says ${outcome}`];
  const due = deliveries.at(-1)?.usage;
  const isExact = JSON.stringify(due) === JSON.stringify(usage) && !isEstimated;
  return isExact ? [] : [`used ${JSON.stringify(due)}, booked ${JSON.stringify(usage)}`];
}

function judgeUnanswered(each: Case, { outcome, usage, chargeNanoUsd }: Booked): string[] {
  const { seen, deliveries, manner, disturbances } = each;
  // Who leaves, or whose Envoy dies, does not get all that extproc has passed on.
  const isCutBehind = manner === "leaves" || isDisturbed(disturbances, "extproc", "envoy");
  if (isCutBehind) return isWithinSent(deliveries, usage.outputTokens);
  if (outcome === "complete") return [`${seen.result}, but the usage says complete`];
  if (seen.result === "refused") return chargeNanoUsd === 0n ? [] : [`refused, and charged ${chargeNanoUsd}`];
  const minTokens = Math.floor(Buffer.byteLength(seen.text) / BYTES_PER_TOKEN);
  const isCounted = usage.outputTokens >= minTokens;
  return [
    ...(isCounted ? [] : [`got ${minTokens} tokens, and ${usage.outputTokens} are booked`]),
    ...isWithinSent(deliveries, usage.outputTokens),
  ];
}

function isWithinSent(deliveries: readonly Delivery[], outputTokens: number): string[] {
  const sent = Math.max(0, ...deliveries.map(({ sentBytes }) => Math.ceil(sentBytes / BYTES_PER_TOKEN)));
  return outputTokens <= sent ? [] : [`${outputTokens} tokens are booked, ${sent} were sent`];
}

function isDisturbed(disturbances: readonly ProcessFault[], ...members: readonly ProcessFault["member"][]): boolean {
  return disturbances.some(({ member }) => members.includes(member));
}
