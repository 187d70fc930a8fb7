import { createAnswerSize } from "../../protocol/answer-bounds.ts";
import type { AnswerEvent, OpenedBlock } from "../conversation/answer-event.ts";

interface Block {
  opened: OpenedBlock;
  /** Where it is written; null while it is not. */
  index: number | null;
  /** What arrived while an unfinished call was written. */
  waiting: BlockEvent[];
}

type BlockEvent = Exclude<Extract<AnswerEvent, { index: number }>, { type: "citations" }>;

/**
 * Blocks one after the other, although their server leaves several open: llama.cpp ends all items at the end of its answer, and
 * Messages allows one open block at a time. Text and thinking end where something else begins; if more of them follows, it is
 * another block. What begins before a call is complete waits for it. Throws GatewayError `upstream_error` if too much waits.
 */
export function createBlockOrder(): (events: readonly AnswerEvent[]) => AnswerEvent[] {
  const blocks = new Map<number, Block>();
  const queue = new Set<Block>();
  let written: Block | null = null;
  let next = 0;
  const size = createAnswerSize();

  function take(event: AnswerEvent): AnswerEvent[] {
    if (!("index" in event)) return [event];
    // Messages has no form for them.
    if (event.type === "citations") return [];
    if (event.type === "open") add(event.index, event.block);
    const block = blocks.get(event.index);
    if (block === undefined) return [];
    if (event.type === "close") blocks.delete(event.index);
    if (mustWait(block)) {
      wait(block, event);
      return [];
    }
    return [...write(block, event), ...drain()];
  }

  function add(index: number, opened: OpenedBlock): void {
    if (opened.type === "tool_call") size.addCall();
    else size.addBlock();
    blocks.set(index, { opened, index: null, waiting: [] });
  }

  function mustWait(block: Block): boolean {
    return written !== null && written !== block && written.opened.type === "tool_call";
  }

  function wait(block: Block, event: BlockEvent): void {
    const last = block.waiting.at(-1);
    size.keep(charactersOf(event));
    if (last !== undefined && "text" in last && "text" in event)
      block.waiting[block.waiting.length - 1] = { ...last, text: last.text + event.text };
    else block.waiting.push(event);
    queue.add(block);
  }

  function drain(): AnswerEvent[] {
    const events: AnswerEvent[] = [];
    for (const block of queue) {
      if (mustWait(block)) break;
      queue.delete(block);
      for (const event of block.waiting) {
        size.keep(-charactersOf(event));
        events.push(...write(block, event));
      }
      block.waiting = [];
    }
    return events;
  }

  function write(block: Block, event: BlockEvent): AnswerEvent[] {
    if (event.type === "open") return begin(block);
    if (event.type === "close") return block === written ? end() : [];
    return [...begin(block), { ...event, index: block.index ?? next }];
  }

  function begin(block: Block): AnswerEvent[] {
    if (block === written) return [];
    const ended = end();
    block.index = next;
    written = block;
    return [...ended, { type: "open", index: next, block: block.opened }];
  }

  function end(): AnswerEvent[] {
    if (written === null) return [];
    written = null;
    next += 1;
    return [{ type: "close", index: next - 1 }];
  }

  return (events) => events.flatMap(take);
}

function charactersOf(event: BlockEvent): number {
  if (event.type === "signature") return event.signature.length;
  return "text" in event ? event.text.length : 0;
}
