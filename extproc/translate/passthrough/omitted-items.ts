import { scanElements } from "../../protocol/json/scan.ts";

/** An item that a server has streamed. */
export interface StreamedItem {
  readonly position: number;
  /** As JSON; null if there is nothing of it. */
  readonly written: string | null;
}

/**
 * The output of a last response, with the items that it leaves out although its server has streamed them: clients read this response,
 * and the gateway stores it.
 * @param positions of the items that it has.
 */
export function withOmitted(
  output: Buffer,
  positions: readonly (number | undefined)[],
  omitted: readonly StreamedItem[],
): Buffer {
  const listed = scanElements(output).map((element, at) => ({ position: positions[at] ?? Infinity, written: String(element) }));
  const all = [...listed, ...omitted.filter(({ written }) => written !== null)];
  const inOrder = all.toSorted((left, right) => left.position - right.position);
  return Buffer.from(`[${inOrder.map(({ written }) => written).join(",")}]`);
}
