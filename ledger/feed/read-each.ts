import * as z from "zod";
import type { UnreadableKind, UnreadableRow } from "./rows.ts";

/** Enough to name the field. */
const MAX_REASON_LENGTH = 300;

interface RowReading<Row, Read> {
  kind: UnreadableKind;
  schema: z.ZodType<Read>;
  idOf(row: Row): string;
}

/**
 * Reads each row separately. During an upgrade a newer version may write values that this one does not know: one such row must
 * not keep every later change from this process.
 */
export function readEach<Row, Read>(
  rows: readonly Row[],
  { kind, schema, idOf }: RowReading<Row, Read>,
): { readable: Read[]; unreadable: UnreadableRow[] } {
  const readable: Read[] = [];
  const unreadable: UnreadableRow[] = [];
  for (const row of rows) {
    const read = schema.safeParse(row);
    if (read.success) readable.push(read.data);
    else unreadable.push({ kind, id: idOf(row), reason: z.prettifyError(read.error).slice(0, MAX_REASON_LENGTH) });
  }
  return { readable, unreadable };
}
