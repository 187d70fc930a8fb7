/** Numbers and money come as decimal texts made by us; all else is text that a customer or an admin has written. */
export type Cell = { text: string } | { number: string };

/** A table of any length, to be written as a file. */
export interface TableFile {
  columns: readonly string[];
  /** Rows in portions, each read when the one before it is on its way. */
  portions: AsyncIterable<readonly (readonly Cell[])[]>;
}
