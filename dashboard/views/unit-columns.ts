import type { UsageSums } from "../../ledger/usage/sums.ts";

const KINDS = [
  { head: "Searches", name: "searches" },
  { head: "Images", name: "images" },
  { head: "Characters", name: "characters" },
] as const satisfies { head: string; name: keyof UsageSums }[];

export type UnitKind = (typeof KINDS)[number]["name"];

/** Columns for the kinds of units that at least one row has. */
export function unitColumns(rows: readonly Pick<UsageSums, UnitKind>[]): readonly (typeof KINDS)[number][] {
  return KINDS.filter(({ name }) => rows.some((row) => row[name] > 0));
}
