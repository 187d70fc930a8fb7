/** Numbers and money are decimal texts of ours; everything else is text from a customer or an administrator. */
export type Cell = { text: string } | { number: string };

/** A table of any length, to be written as a file. */
export interface TableFile {
  columns: readonly string[];
  /** Rows in portions, each read when the previous one is being sent. */
  portions: AsyncIterable<readonly (readonly Cell[])[]>;
}
