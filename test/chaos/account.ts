import type { Booked } from "./books.ts";
import { judge } from "./judge.ts";
import type { Asked } from "./load.ts";
import type { ProcessFault } from "./process-faults.ts";
import type { Delivery } from "./delivery.ts";
import { FIRST_OF_ATTACKERS } from "./question.ts";

/** What each side knows of all requests. */
export interface Sides {
  asked: readonly Asked[];
  deliveries: readonly Delivery[];
  booked: ReadonlyMap<string, Booked>;
  happened: readonly ProcessFault[];
}

/** A request with what nothing explains about it. */
export interface Accounted {
  asked: Asked;
  /** Processes that failed while it ran. */
  disturbances: readonly ProcessFault[];
  problems: readonly string[];
}

/** Connections, keys and prices are back a little after the process is. */
const GRACE_MS = 2_000;

/** Puts the sides of each request together. */
export function accountFor({ asked, deliveries, booked, happened }: Sides): { requests: Accounted[]; unasked: string[] } {
  const byNumber = Map.groupBy(deliveries, ({ number }) => number);
  const known = new Set(deliveries.filter(({ number }) => number > FIRST_OF_ATTACKERS).map(({ requestId }) => requestId));
  const requests = asked.map((each): Accounted => {
    const { question, seen } = each;
    const own = byNumber.get(question.number) ?? [];
    const ids = new Set([seen.requestId, ...own.map(({ requestId }) => requestId)].filter((id) => id !== undefined));
    for (const id of ids) known.add(id);
    const disturbances = happened.filter(({ fromMs, untilMs }) => fromMs <= seen.endedMs && seen.startedMs <= untilMs + GRACE_MS);
    const rows = [...ids].map((id) => booked.get(id)).filter((row) => row !== undefined);
    const { fault, interface: protocol, model, isStream } = question;
    const where = [fault, protocol, model, isStream ? "stream" : "whole", ...ids].join(", ");
    const problems = judge({ ...each, deliveries: own, booked: rows, disturbances });
    return { asked: each, disturbances, problems: problems.map((problem) => `${problem} (${where})`) };
  });
  const unasked = [...booked]
    .filter(([id, { chargeNanoUsd }]) => !known.has(id) && chargeNanoUsd > 0n)
    .map(([id]) => `${id} is charged, and nobody asked`);
  return { requests, unasked };
}
