import type { UsageSums } from "../../ledger/usage/sums.ts";

const KINDS = [
  { head: "Searches", name: "searches" },
  { head: "Images", name: "images" },
] as const satisfies { head: string; name: keyof UsageSums }[];

/** Columns for the kinds of units that at least one row has. */
export function unitColumns(rows: readonly Pick<UsageSums, "searches" | "images">[]): readonly (typeof KINDS)[number][] {
  return KINDS.filter(({ name }) => rows.some((row) => row[name] > 0));
}
