import { messagesToolId, mintToolId, saltedToolId } from "./ids.ts";

/** Gives the tool calls of one answer ids that the client has not seen in this conversation. */
export interface ToolCallIds {
  /** @param upstreamId empty where the upstream gave none. */
  next(upstreamId: string): string;
}

/** @param used ids of the conversation so far, as the client sent them. */
export function createToolCallIds({ requestId, used }: { requestId: string; used: ReadonlySet<string> }): ToolCallIds {
  const seen = new Set<string>();
  let index = -1;
  return {
    next(upstreamId) {
      index += 1;
      // Two calls of one answer with the same id: the results could not be matched, so the second gets its own.
      if (upstreamId === "" || seen.has(upstreamId)) return mintToolId("toolu_", { requestId, index });
      seen.add(upstreamId);
      const id = messagesToolId(upstreamId);
      return used.has(id) ? saltedToolId(upstreamId, { requestId, index }) : id;
    },
  };
}
