import type { Delta } from "../../protocol/chat/encode.ts";
import type { OpenedBlock } from "../conversation/answer-event.ts";
import { createCallIds } from "../conversation/call-ids.ts";
import { freeText } from "../conversation/free-text.ts";
import type { WriteContext } from "./write-context.ts";

/** One tool call between its block's start and end. */
export interface OpenCall {
  /** Sent to the client when the call begins. */
  readonly opening: readonly Delta[];
  /** A piece of the arguments' JSON text. */
  add(text: string): readonly Delta[];
  end(): readonly Delta[];
}

export interface CallDeltas {
  start(block: Extract<OpenedBlock, { type: "tool_call" }>): OpenCall;
  /** Calls so far. Chat numbers them separately, not among all blocks. */
  count(): number;
}

const NOTHING: readonly Delta[] = [];
const HIDDEN: OpenCall = { opening: NOTHING, add: () => NOTHING, end: () => NOTHING };

export function createCallDeltas({ asked, requestId }: Pick<WriteContext, "asked" | "requestId">): CallDeltas {
  const callId = createCallIds(requestId);
  let count = 0;

  return {
    start({ id: serverId, name }) {
      const index = count;
      const id = callId(serverId, index);
      count += 1;
      // `function_call` holds one call; the server was asked for no more than one.
      if (asked.isLegacy) return index === 0 ? legacyCall(name) : HIDDEN;
      return asked.customTools.has(name) ? customCall(index, id, name) : functionCall(index, id, name);
    },
    count: () => count,
  };
}

function functionCall(index: number, id: string, name: string): OpenCall {
  return {
    opening: [{ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }],
    add: (text) => [{ tool_calls: [{ index, function: { arguments: text } }] }],
    end: () => NOTHING,
  };
}

function legacyCall(name: string): OpenCall {
  return {
    opening: [{ function_call: { name, arguments: "" } }],
    add: (text) => [{ function_call: { arguments: text } }],
    end: () => NOTHING,
  };
}

/** Its text is inside JSON, and known when that is complete. */
function customCall(index: number, id: string, name: string): OpenCall {
  let written = "";
  return {
    opening: NOTHING,
    add(text) {
      written += text;
      return NOTHING;
    },
    end: () => [{ tool_calls: [{ index, id, type: "custom", custom: { name, input: freeText(written) } }] }],
  };
}
