import { messagesToolId } from "../conversation/ids.ts";
import type { Block } from "./block.ts";

/** The tool calls of one assistant turn that wait for their results, and the ids that the conversation has used. */
export interface OpenCalls {
  /** A call under the client's id; returns the id that messages knows it by. */
  add(clientId: string): string;
  /** The result of the first such call without one; false when there is none. */
  resolve(clientId: string, content: readonly Block[]): boolean;
  /** All results in the order of their calls, a stand-in where one is missing. None is open afterwards. */
  close(): Block[];
}

interface OpenCall {
  clientId: string;
  id: string;
  result: Block | null;
}

export function createOpenCalls(): OpenCalls {
  const uses = new Map<string, number>();
  let open: OpenCall[] = [];

  /** Many servers count from `call_0` in every answer, but messages wants each id once in a conversation. */
  function uniqueId(clientId: string): string {
    const count = (uses.get(clientId) ?? 0) + 1;
    uses.set(clientId, count);
    return messagesToolId(count === 1 ? clientId : `${clientId}\0${count}`);
  }

  return {
    add(clientId) {
      const id = uniqueId(clientId);
      open.push({ clientId, id, result: null });
      return id;
    },
    resolve(clientId, content) {
      const call = open.find((candidate) => candidate.clientId === clientId && candidate.result === null);
      if (call !== undefined) call.result = toResult(call.id, content);
      return call !== undefined;
    },
    close() {
      const results = open.map((call) => call.result ?? missingResult(call.id));
      open = [];
      return results;
    },
  };
}

/** A cache mark inside a result moves to the result as a whole: blocks further in have none. */
function toResult(id: string, content: readonly Block[]): Block {
  const marked = content.findLast((block) => block["cache_control"] !== undefined);
  return {
    type: "tool_result",
    tool_use_id: id,
    content: content.length === 0 ? undefined : content.map((block) => ({ ...block, cache_control: undefined })),
    cache_control: marked?.["cache_control"],
  };
}

function missingResult(id: string): Block {
  return { type: "tool_result", tool_use_id: id, content: [{ type: "text", text: "[no result]" }], is_error: true };
}
