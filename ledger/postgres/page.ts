/**
 * Trims a list that was read with one row more than a page shows: the extra row means that there is another page.
 * @returns `next`: the cursor of the page's last row; null on the last page.
 */
export function cutPage<Row, Cursor>(
  rows: readonly Row[],
  limit: number,
  cursorOf: (last: Row) => Cursor,
): { page: Row[]; next: Cursor | null } {
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return { page, next: rows.length <= limit || last === undefined ? null : cursorOf(last) };
}
