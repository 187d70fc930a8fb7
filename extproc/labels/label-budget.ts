import type { Label } from "../../contract/labels.ts";
import type { Settlement } from "../../ledger/settlement/settlement.ts";
import { createFleetingMap } from "../../runtime/fleeting-map.ts";
import { bytesOf } from "./read-labels.ts";

/**
 * Bounds the memory of labels whose requests are not settled yet: while the database is away, all of them wait here. Beyond the
 * bound requests are served and charged, and their labels are not kept.
 */
export interface LabelBudget {
  /** @returns the same labels, or none of them. */
  take(requestId: string, labels: readonly Label[]): readonly Label[];
  /** Postgres has these settlements. */
  settled(settlements: readonly Settlement[]): void;
  /** The request ended without a settlement. */
  release(requestId: string): void;
  readonly bytes: number;
}

/** What an object, its two strings and its place in a list take beside their characters. */
const BYTES_OF_LABEL = 120;

export function createLabelBudget({ maxBytes = 32 * 2 ** 20, onDropped }: { maxBytes?: number; onDropped(): void }): LabelBudget {
  const held = createFleetingMap<string, number>();
  let bytes = 0;

  function release(requestId: string): void {
    bytes -= held.get(requestId) ?? 0;
    held.delete(requestId);
  }

  return {
    take(requestId, labels) {
      if (labels.length === 0) return labels;
      const wanted = bytesOf(labels) + labels.length * BYTES_OF_LABEL;
      if (bytes + wanted > maxBytes) {
        onDropped();
        return [];
      }
      held.set(requestId, wanted);
      bytes += wanted;
      return labels;
    },
    settled(settlements) {
      for (const { requestId, labels } of settlements) if (labels !== undefined) release(requestId);
    },
    release,
    get bytes() {
      return bytes;
    },
  };
}
