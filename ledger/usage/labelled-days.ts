import * as z from "zod";
import { dayOf } from "../../contract/days.ts";
import { tagDimension, type Label } from "../../contract/labels.ts";
import type { Reader } from "../postgres/database.ts";
import { wholeNumber } from "./sums.ts";

/** A UTC day on which an account had requests with a label, and how many at most. */
export interface LabelledDay {
  day: string;
  requests: number;
}

export interface LabelledDays {
  /** The label by which requests are found: the one with the fewest. */
  label: Label;
  others: readonly Label[];
  /** With requests that may have all of the labels, newest first. */
  days: LabelledDay[];
}

interface LabelSearch {
  accountId: string;
  from: Date;
  to: Date;
  keyIds?: readonly string[];
  model?: string;
  /** At least one. */
  labels?: readonly Label[];
}

const row = z.strictObject({ day: z.string(), requests: wholeNumber, known: wholeNumber });

/** From rollups. Values that rollups do not distinguish may be any of the others. */
export async function listLabelledDays(database: Reader, search: LabelSearch): Promise<LabelledDays> {
  const found = await Promise.all(
    (search.labels ?? []).map(async (label) => {
      const days = await daysOf(database, search, label);
      // A value that rollups do not distinguish on a day appeared late on that day: it is rare, however many others there are.
      return { label, days, known: days.reduce((sum, { known }) => sum + known, 0) };
    }),
  );
  const [first, ...rest] = found.toSorted((a, b) => a.known - b.known);
  if (first === undefined) throw new Error("A search by labels has one at least.");
  const isOnAll = (day: string) => rest.every(({ days }) => days.some((each) => each.day === day));
  return { label: first.label, others: rest.map(({ label }) => label), days: first.days.filter(({ day }) => isOnAll(day)) };
}

async function daysOf(
  database: Reader,
  { accountId, from, to, keyIds, model }: LabelSearch,
  { dimension, value }: Label,
): Promise<(LabelledDay & { known: number })[]> {
  return database.query({
    text: `SELECT day::text AS day, sum(requests)::bigint AS requests,
             coalesce(sum(requests) FILTER (WHERE dimension = $8 AND value = $9), 0)::bigint AS known
           FROM usage_by_label_and_key
           WHERE account_id = $1 AND dimension = ANY($2) AND value = ANY($3) AND day BETWEEN $4 AND $5
             AND ($6::text[] IS NULL OR key_id = ANY($6)) AND ($7::text IS NULL OR model = $7)
           GROUP BY day ORDER BY day DESC`,
    values: [
      accountId,
      [dimension, tagDimension("")],
      [value, ""],
      dayOf(from.getTime()),
      dayOf(to.getTime()),
      keyIds ?? null,
      model ?? null,
      dimension,
      value,
    ],
    row,
  });
}
