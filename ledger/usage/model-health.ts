import * as z from "zod";
import type { Reader } from "../postgres/database.ts";
import { lowestIdAt } from "./request-id-time.ts";
import { dayOf } from "../../contract/days.ts";

export interface ModelHealth {
  model: string;
  /** Requests that the model server answered, successfully or not, except those that the client aborted. */
  answered: number;
  failed: number;
}

/** The models' answers since a moment, all accounts together. */
export async function modelHealthSince(database: Reader, sinceMs: number): Promise<ModelHealth[]> {
  return database.query({
    text: `SELECT model, count(*)::int AS answered, count(*) FILTER (WHERE outcome IN ('failed', 'truncated'))::int AS failed
           FROM usage_event WHERE day >= $1 AND request_id >= $2 AND outcome <> 'aborted' GROUP BY model`,
    values: [dayOf(sinceMs), lowestIdAt(sinceMs)],
    row: z.strictObject({ model: z.string(), answered: z.int(), failed: z.int() }),
  });
}
