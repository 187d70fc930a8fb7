import * as z from "zod";
import type { Queryable } from "../postgres/database.ts";

/** One encrypted half of a stored response. */
export interface StoredPart {
  responseId: string;
  part: "input" | "response";
  bytes: number;
}

interface Slice {
  responseId: string;
  part: StoredPart["part"];
  start: number;
  bytes: number;
}

/**
 * A buffer is transferred as hexadecimal text, and is in memory three times while it is read: as a message, a string and a
 * buffer.
 */
const BYTES_AT_ONCE = 1024 * 1024;

const sliceRow = z.strictObject({ bytes: z.instanceof(Buffer).nullable() });

/**
 * Reads parts one after another, in answers of a megabyte: many small parts together, and a large one in slices.
 * @returns undefined for a part that was deleted, or whose size has changed.
 */
export async function* readParts(
  database: Queryable,
  accountId: string,
  parts: readonly StoredPart[],
): AsyncGenerator<Buffer | undefined, void, undefined> {
  const slices = readSlices(database, accountId, parts);
  for (const part of parts) {
    const whole = Buffer.allocUnsafe(part.bytes);
    let isWhole = true;
    for (const { start, bytes } of slicesOf(part)) {
      const { value: slice } = await slices.next();
      if (slice instanceof Buffer && slice.length === bytes) slice.copy(whole, start);
      else isWhole = false;
    }
    yield isWhole ? whole : undefined;
  }
}

/** @returns the bytes of all slices of all parts, in order; null for one that was deleted. */
async function* readSlices(
  database: Queryable,
  accountId: string,
  parts: readonly StoredPart[],
): AsyncGenerator<Buffer | null, void, undefined> {
  for (const batch of batchesOf(parts.flatMap(slicesOf))) {
    const rows = await database.query({
      text: `SELECT substring(CASE slice.part WHEN 'input' THEN input ELSE response END FROM slice.start FOR slice.length) AS bytes
             FROM unnest($2::text[], $3::text[], $4::integer[], $5::integer[])
               WITH ORDINALITY AS slice (response_id, part, start, length, position)
             LEFT JOIN stored_response AS stored ON stored.account_id = $1 AND stored.response_id = slice.response_id
             ORDER BY slice.position`,
      values: [
        accountId,
        batch.map(({ responseId }) => responseId),
        batch.map(({ part }) => part),
        // Postgres counts from 1.
        batch.map(({ start }) => start + 1),
        batch.map(({ bytes }) => bytes),
      ],
      row: sliceRow,
    });
    for (const { bytes } of rows) yield bytes;
  }
}

/** At least one: an empty part may be deleted, too. */
function slicesOf({ responseId, part, bytes }: StoredPart): Slice[] {
  return Array.from({ length: Math.max(1, Math.ceil(bytes / BYTES_AT_ONCE)) }, (_, index) => {
    const start = index * BYTES_AT_ONCE;
    return { responseId, part, start, bytes: Math.min(BYTES_AT_ONCE, bytes - start) };
  });
}

function batchesOf(slices: readonly Slice[]): Slice[][] {
  const batches: Slice[][] = [];
  let size = 0;
  for (const slice of slices) {
    const last = batches.at(-1);
    if (last === undefined || size + slice.bytes > BYTES_AT_ONCE) {
      batches.push([slice]);
      size = slice.bytes;
    } else {
      last.push(slice);
      size += slice.bytes;
    }
  }
  return batches;
}
