import type { Turn } from "../../protocol/messages/request.ts";
import { below, fieldError, type FieldPath } from "../conversation/field-path.ts";

interface OpenCalls {
  ids: ReadonlySet<string>;
  /** The assistant's last turn. */
  turn: number;
}

const NO_CALLS: OpenCalls = { ids: new Set(), turn: 0 };

/** @throws GatewayError `invalid_request` if calls and results do not match as messages requires. */
export function checkCalls(turns: readonly Turn[], messages: FieldPath): void {
  let open = NO_CALLS;
  for (let start = 0; start < turns.length;) {
    const isAssistant = turns[start]?.role === "assistant";
    let end = start + 1;
    // Neighbors of one side count as one turn; system turns count as the user's.
    while (end < turns.length && (turns[end]?.role === "assistant") === isAssistant) end += 1;
    if (isAssistant) open = { ids: callsOf(turns, start, end), turn: end - 1 };
    else {
      refuseUnanswered(unanswered(turns, { start, end }, open, messages), open.turn, messages);
      open = NO_CALLS;
    }
    start = end;
  }
  refuseUnanswered(open.ids, open.turn, messages);
}

function callsOf(turns: readonly Turn[], start: number, end: number): Set<string> {
  const ids = new Set<string>();
  for (const { content } of turns.slice(start, end))
    for (const block of content) if (block.type === "tool_use") ids.add(block.id);
  return ids;
}

function unanswered(
  turns: readonly Turn[],
  { start, end }: { start: number; end: number },
  open: OpenCalls,
  messages: FieldPath,
): Set<string> {
  const waiting = new Set(open.ids);
  for (let turn = start; turn < end; turn += 1) {
    for (const [index, block] of (turns[turn]?.content ?? []).entries()) {
      if (block.type !== "tool_result") continue;
      waiting.delete(block.tool_use_id);
      if (open.ids.has(block.tool_use_id)) continue;
      const at = below(below(below(below(messages, turn), "content"), index), "tool_use_id");
      throw fieldError(
        at,
        " does not match a tool_use block in the previous message. Send each tool_result directly after its tool_use.",
      );
    }
  }
  return waiting;
}

function refuseUnanswered({ size }: ReadonlySet<string>, turn: number, messages: FieldPath): void {
  if (size === 0) return;
  throw fieldError(
    below(messages, turn),
    ` has ${size} tool_use block(s) without a tool_result. Send one tool_result for each in the next message.`,
  );
}
