import type { PartEvent } from "../../protocol/responses/event.ts";
import type { ItemStatus, OutputItem } from "../../protocol/responses/output-item.ts";
import type { ItemPosition, OpenItem } from "./open-item.ts";

/** The items of one response, in the order in which they began. */
export interface Output {
  /** Begins an item, and ends those that are complete. */
  open<Item extends OpenItem>(
    prefix: "msg" | "rs" | "fc" | "ctc",
    make: (position: ItemPosition) => Item,
  ): { item: Item; events: PartEvent[] };
  /** Its last piece has arrived: the next item, or the end, closes it. */
  markOver(item: OpenItem): void;
  /** Ends all open items. @param isCut the last item is incomplete. */
  close(isCut: boolean): PartEvent[];
  /** All items so far. */
  items(): OutputItem[];
  isEmpty(): boolean;
}

type Slot = { kind: "open"; item: OpenItem } | { kind: "closed"; item: OutputItem };

/** @param serial determines the items' ids: the same for one request. */
export function createOutput(serial: string): Output {
  const slots: Slot[] = [];
  /** Positions of open items. */
  const positions = new Map<OpenItem, number>();
  /** Of those, the complete ones. */
  let over: number[] = [];

  /** @param due positions in the output. */
  function closeAll(due: readonly number[], status: ItemStatus): PartEvent[] {
    return due.flatMap((index) => {
      const slot = slots[index];
      if (slot?.kind !== "open") return [];
      const events = slot.item.close(status);
      slots[index] = { kind: "closed", item: slot.item.item(status) };
      positions.delete(slot.item);
      return events;
    });
  }

  function closeOver(): PartEvent[] {
    const due = over.toSorted((one, other) => one - other);
    over = [];
    return closeAll(due, "completed");
  }

  return {
    open(prefix, make) {
      const closed = closeOver();
      const index = slots.length;
      const item = make({ item_id: `${prefix}_${serial}${index}`, output_index: index });
      slots.push({ kind: "open", item });
      positions.set(item, index);
      return { item, events: [...closed, ...item.opening] };
    },
    markOver(item) {
      const index = positions.get(item);
      if (index !== undefined) over.push(index);
    },
    close(isCut) {
      over = [];
      const last = slots.length - 1;
      const open = [...positions.values()];
      const whole = closeAll(
        open.filter((index) => index < last),
        "completed",
      );
      return [...whole, ...closeAll([last], isCut ? "incomplete" : "completed")];
    },
    items: () => slots.map((slot) => (slot.kind === "open" ? slot.item.item("incomplete") : slot.item)),
    isEmpty: () => slots.length === 0,
  };
}
