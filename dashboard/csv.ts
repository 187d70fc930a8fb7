import { Readable } from "node:stream";
import { stringify } from "csv-stringify/sync";

/** Numbers and money come as decimal texts made by us; all else is text that a customer or an admin has written. */
export type Cell = { text: string } | { number: string };

export interface CsvFile {
  columns: readonly string[];
  /** Rows in portions, each read when the one before it is on its way. */
  portions: AsyncIterable<readonly (readonly Cell[])[]>;
}

/** A file of any length, never whole in memory. */
export function streamCsv({ columns, portions }: CsvFile): Readable {
  return Readable.from(lines(columns, portions), { objectMode: false });
}

async function* lines(columns: CsvFile["columns"], portions: CsvFile["portions"]): AsyncGenerator<string> {
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

/** A spreadsheet would run a text that begins so as a formula; an apostrophe makes it a text. */
function withoutFormula(text: string): string {
  return /^\s*[=+\-@\t\r\n\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? `'${text}` : text;
}
