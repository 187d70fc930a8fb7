import type { PartEvent } from "../../protocol/responses/event.ts";
import type { ItemStatus, OutputItem } from "../../protocol/responses/output-item.ts";
import type { ItemPosition, OpenItem } from "./open-item.ts";

/** The items of one response, in the order in which they began. */
export interface Output {
  /** Begins an item, and ends those that are over. */
  open<Item extends OpenItem>(
    prefix: "msg" | "rs" | "fc" | "ctc",
    make: (position: ItemPosition) => Item,
  ): { item: Item; events: PartEvent[] };
  /** Its last piece has come: the next item, or the end, closes it. */
  markOver(item: OpenItem): void;
  /** Ends all that are open. @param isCut the last item is not whole. */
  close(isCut: boolean): PartEvent[];
  /** All items as far as they are. */
  items(): OutputItem[];
  isEmpty(): boolean;
}

type Slot = { kind: "open"; item: OpenItem; isOver: boolean } | { kind: "closed"; item: OutputItem };

/** @param serial makes the items' ids: the same for one request. */
export function createOutput(serial: string): Output {
  const slots: Slot[] = [];
  /** Slots before it are closed. */
  let firstOpen = 0;

  function closeWhere(isDue: (slot: Extract<Slot, { kind: "open" }>, index: number) => boolean, status: ItemStatus): PartEvent[] {
    const events: PartEvent[] = [];
    for (let index = firstOpen; index < slots.length; index += 1) {
      const slot = slots[index];
      if (slot?.kind !== "open" || !isDue(slot, index)) continue;
      events.push(...slot.item.close(status));
      slots[index] = { kind: "closed", item: slot.item.item(status) };
    }
    while (slots[firstOpen]?.kind === "closed") firstOpen += 1;
    return events;
  }

  return {
    open(prefix, make) {
      const closed = closeWhere(({ isOver }) => isOver, "completed");
      const index = slots.length;
      const item = make({ item_id: `${prefix}_${serial}${index}`, output_index: index });
      slots.push({ kind: "open", item, isOver: false });
      return { item, events: [...closed, ...item.opening] };
    },
    markOver(item) {
      const slot = slots.slice(firstOpen).find((candidate) => candidate.item === item);
      if (slot?.kind === "open") slot.isOver = true;
    },
    close(isCut) {
      const whole = closeWhere((_, index) => index < slots.length - 1, "completed");
      return [...whole, ...closeWhere(() => true, isCut ? "incomplete" : "completed")];
    },
    items: () => slots.map((slot) => (slot.kind === "open" ? slot.item.item("incomplete") : slot.item)),
    isEmpty: () => slots.length === 0,
  };
}
