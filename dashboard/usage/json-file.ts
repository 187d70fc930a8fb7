import { Readable } from "node:stream";
import type { Cell, TableFile } from "./table-file.ts";

/** A JSON array of objects, one per line, never completely in memory. Money stays a decimal string. */
export function streamJson({ columns, portions }: TableFile): Readable {
  return Readable.from(lines(columns, portions), { objectMode: false });
}

async function* lines(columns: TableFile["columns"], portions: TableFile["portions"]): AsyncGenerator<string> {
  let before = "[\n";
  for await (const rows of portions) {
    if (rows.length === 0) continue;
    yield before + rows.map((row) => JSON.stringify(toObject(columns, row))).join(",\n");
    before = ",\n";
  }
  yield before === "[\n" ? "[]\n" : "\n]\n";
}

function toObject(columns: readonly string[], row: readonly Cell[]): Record<string, unknown> {
  return Object.fromEntries(columns.map((column, index) => [column, toValue(column, row[index])]));
}

function toValue(column: string, cell: Cell | undefined): unknown {
  if (cell === undefined) return null;
  if ("text" in cell) return column.startsWith("is_") ? cell.text === "yes" : cell.text;
  if (cell.number === "") return null;
  return /^\d{1,15}$/.test(cell.number) ? Number(cell.number) : cell.number;
}
