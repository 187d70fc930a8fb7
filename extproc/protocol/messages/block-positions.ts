import { checkBlocks } from "../answer-bounds.ts";
import { positionIn } from "../json/position.ts";

/**
 * The blocks of a streamed message, numbered from 0 in the order in which they begin. Some servers leave out the `index` of events,
 * write it as a text, or give all blocks the same.
 */
export interface BlockPositions {
  /** @throws GatewayError `upstream_error` for more blocks than any answer has. */
  begin(index: unknown): number;
  /** Of the block that an event belongs to: the latest of its number, or the latest of all if it has none. */
  find(index: unknown): number | undefined;
}

export function createBlockPositions(): BlockPositions {
  const positions = new Map<number, number>();
  let blocks = 0;
  return {
    begin(index) {
      const position = blocks;
      blocks += 1;
      checkBlocks(blocks);
      positions.set(positionIn(index) ?? position, position);
      return position;
    },
    find(index) {
      const number = positionIn(index);
      if (number !== null) return positions.get(number);
      return blocks === 0 ? undefined : blocks - 1;
    },
  };
}
