import type { UsageSums } from "../../ledger/usage/sums.ts";
import { bucketOf, stepOf } from "../charts/buckets.ts";
import { MAX_SERIES, restOf, type Bar } from "../charts/series.ts";
import type { DayRange } from "./range.ts";

/** Usage of one group in the UTC day or hour that begins then. */
interface GroupUsage extends UsageSums {
  group: string;
  /** ISO 8601. */
  start: string;
}

interface GroupedChart {
  range: DayRange;
  /** How many groups have usage. */
  groups: number;
  /** All usage. */
  bars: readonly Bar[];
  /** Name of the groups without a colour of their own, together. */
  others: string;
  /** Usage of the groups with the highest charges, `most` of them. */
  read(query: { step: "hour" | "day"; most: number }): Promise<GroupUsage[]>;
}

/** By bucket and group, for as many groups as there are colours; the others are combined. */
export async function readGroupBars({ range, groups, bars, others, read }: GroupedChart): Promise<Bar[]> {
  const step = stepOf(range);
  const hasRest = groups > MAX_SERIES;
  const rows = await read({ step: step === "hour" ? step : "day", most: hasRest ? MAX_SERIES - 1 : MAX_SERIES });
  const drawn = rows.map(({ start, ...usage }) => ({ ...usage, bucket: bucketOf(start, step) }));
  return hasRest ? [...drawn, ...restOf(bars, drawn, others)] : drawn;
}
