import { Readable } from "node:stream";
import { stringify } from "csv-stringify/sync";
import type { Cell, TableFile } from "./table-file.ts";

/** A file of any length, never completely in memory. */
export function streamCsv({ columns, portions }: TableFile): Readable {
  return Readable.from(lines(columns, portions), { objectMode: false });
}

async function* lines(columns: TableFile["columns"], portions: TableFile["portions"]): AsyncGenerator<string> {
  yield encodeRows([columns]);
  for await (const rows of portions) {
    if (rows.length > 0) yield encodeRows(rows.map((row) => row.map(cellText)));
  }
}

function encodeRows(rows: readonly (readonly string[])[]): string {
  return stringify(
    rows.map((row) => [...row]),
    { record_delimiter: "windows" },
  );
}

function cellText(cell: Cell): string {
  return "number" in cell ? cell.number : withoutFormula(cell.text);
}

/** A spreadsheet would run a text that begins like this as a formula; an apostrophe makes it text. */
function withoutFormula(text: string): string {
  return /^\s*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? `'${text}` : text;
}
