import type { UsageSums } from "../../ledger/usage/sums.ts";
import type { Metric } from "../charts/series.ts";
import { minutesOf } from "../minutes.ts";

type Units = Pick<UsageSums, "searches" | "images" | "characters" | "seconds">;

interface UnitColumn {
  head: string;
  metric: UnitKind;
  of(sums: Units): number;
}

const COLUMNS: readonly UnitColumn[] = [
  { head: "Searches", metric: "searches", of: ({ searches }) => searches },
  { head: "Images", metric: "images", of: ({ images }) => images },
  { head: "Characters", metric: "characters", of: ({ characters }) => characters },
  { head: "Minutes of audio", metric: "minutes", of: minutesOf },
];

export type UnitKind = Extract<Metric, "searches" | "images" | "characters" | "minutes">;

/** Columns for the kinds of units that at least one row has. */
export function unitColumns(rows: readonly Units[]): readonly UnitColumn[] {
  return COLUMNS.filter(({ of }) => rows.some((row) => of(row) > 0));
}
