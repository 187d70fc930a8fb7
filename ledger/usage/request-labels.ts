import * as z from "zod";
import { dayOf } from "../../contract/days.ts";
import type { Label } from "../../contract/labels.ts";
import type { Reader } from "../postgres/database.ts";
import type { ListedRequest } from "./listed-request.ts";
import { msOfId } from "./request-id-time.ts";

/** A request as a list shows it, with its tags and its end user. */
export type LabelledRequest = ListedRequest & { labels: readonly Label[] };

interface Attempt {
  requestId: string;
  attempt: number;
}

const labelRow = z.strictObject({ requestId: z.string(), attempt: z.int(), dimension: z.string(), value: z.string() });

/** Adds the labels of each of these attempts, sorted by name; all attempts belong to one account. */
export async function readLabelsOf<Listed extends Attempt>(
  database: Reader,
  accountId: string,
  requests: readonly Listed[],
): Promise<(Listed & { labels: Label[] })[]> {
  if (requests.length === 0) return [];
  const days = requests.map(({ requestId }) => dayOf(msOfId(requestId))).toSorted();
  const rows = await database.query({
    text: `SELECT request_id AS "requestId", attempt, dimension, value FROM usage_label
           WHERE day BETWEEN $1 AND $2 AND account_id = $3 AND request_id = ANY($4) ORDER BY dimension`,
    values: [days[0], days.at(-1), accountId, requests.map(({ requestId }) => requestId)],
    row: labelRow,
  });
  const byAttempt = Map.groupBy(rows, placeOf);
  return requests.map((request) => ({
    ...request,
    labels: (byAttempt.get(placeOf(request)) ?? []).map(({ dimension, value }) => ({ dimension, value })),
  }));
}

function placeOf({ requestId, attempt }: Attempt): string {
  return `${requestId}.${attempt}`;
}
