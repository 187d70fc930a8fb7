/** A count as in sentences: "300,000". */
export function inWords(count: number): string {
  return count.toLocaleString("en-US");
}
