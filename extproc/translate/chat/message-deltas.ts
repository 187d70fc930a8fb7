import type { Delta, ReasoningDetail, UrlCitation } from "../../protocol/chat/encode.ts";
import type { AnswerEvent, Citation, Ending, OpenedBlock } from "../conversation/answer-event.ts";
import { createCallDeltas, type OpenCall } from "./call-deltas.ts";
import { REASONING_FORMAT } from "./reasoning-history.ts";
import { positionId } from "./thought-positions.ts";
import type { WriteContext } from "./write-context.ts";

/** What each step of an answer adds to chat's single message. */
export interface MessageDeltas {
  of(event: AnswerEvent): readonly Delta[];
  /** This many code units of text were written without passing through here. */
  textPassed(length: number): void;
  hasCalls(): boolean;
  /** The model has refused in its own words. */
  hasRefusal(): boolean;
}

/** A block between its start and its end. */
type OpenBlock =
  | { type: "text"; start: number; citations: Citation[] }
  | { type: "thinking"; text: string; signature: string; id: string | undefined }
  | { type: "tool_call"; call: OpenCall };

const NOTHING: readonly Delta[] = [];

export function createMessageDeltas(context: Pick<WriteContext, "asked" | "requestId">): MessageDeltas {
  const { asked } = context;
  const calls = createCallDeltas(context);
  const blocks = new Map<number, OpenBlock>();
  const annotations: UrlCitation[] = [];
  let contentLength = 0;
  let detailCount = 0;
  let hasRefusal = false;

  function of(event: AnswerEvent): readonly Delta[] {
    switch (event.type) {
      case "text":
        contentLength += event.text.length;
        return [{ content: event.text }];
      case "refusal":
        hasRefusal = true;
        return [{ refusal: event.text }];
      case "thinking": {
        const block = blocks.get(event.index);
        if (block?.type === "thinking") block.text += event.text;
        return asked.hidesReasoning ? NOTHING : [{ reasoning_content: event.text }];
      }
      case "arguments": {
        const block = blocks.get(event.index);
        return block?.type === "tool_call" ? block.call.add(event.text) : NOTHING;
      }
      case "open":
        return open(event.index, event.block);
      case "signature": {
        const block = blocks.get(event.index);
        if (block?.type === "thinking") block.signature = event.signature;
        return NOTHING;
      }
      case "citations": {
        const block = blocks.get(event.index);
        if (block?.type === "text") for (const citation of event.citations) block.citations.push(citation);
        return NOTHING;
      }
      case "close":
        return close(event.index);
      case "stop":
        return last(event.ending);
      case "start":
      case "ping":
      case "error":
        return NOTHING;
    }
  }

  function open(index: number, block: OpenedBlock): readonly Delta[] {
    switch (block.type) {
      case "text":
        blocks.set(index, { type: "text", start: contentLength, citations: [] });
        return NOTHING;
      case "refusal":
        return NOTHING;
      case "thinking":
        blocks.set(index, { type: "thinking", text: "", signature: "", id: currentPositionId() });
        return NOTHING;
      case "redacted_thinking":
        return detail({ type: "reasoning.encrypted", data: block.data, ...marks(currentPositionId()) });
      case "tool_call": {
        const call = calls.start(block);
        blocks.set(index, { type: "tool_call", call });
        return call.opening;
      }
    }
  }

  function close(index: number): readonly Delta[] {
    const block = blocks.get(index);
    blocks.delete(index);
    switch (block?.type) {
      case "text":
        for (const annotation of annotationsOf(block, contentLength)) annotations.push(annotation);
        return NOTHING;
      case "thinking": {
        // Unsigned thinking can never go back to its server, so it is shown and not kept.
        if (block.signature === "") return NOTHING;
        const { text, signature, id } = block;
        return detail({ type: "reasoning.text", text, signature, ...marks(id) });
      }
      case "tool_call":
        return block.call.end();
      case undefined:
        return NOTHING;
    }
  }

  function currentPositionId(): string | undefined {
    return positionId({ characters: contentLength, calls: calls.count() });
  }

  function marks(id: string | undefined) {
    return { ...(id !== undefined && { id }), format: REASONING_FORMAT, index: detailCount };
  }

  /** A block of thinking, from which `reasoning-history.ts` rebuilds the block. */
  function detail(entry: ReasoningDetail): readonly Delta[] {
    if (asked.hidesReasoning) return NOTHING;
    detailCount += 1;
    return [{ reasoning_details: [entry] }];
  }

  function last({ reason, explanation }: Ending): readonly Delta[] {
    const isExplained = reason === "refusal" && contentLength === 0 && !hasRefusal && explanation;
    return [...(annotations.length > 0 ? [{ annotations }] : []), ...(isExplained ? [{ refusal: explanation }] : [])];
  }

  return {
    of,
    textPassed(length) {
      contentLength += length;
    },
    hasCalls: () => calls.count() > 0,
    hasRefusal: () => hasRefusal,
  };
}

/** Shown by a client next to the text that a source supports. */
function annotationsOf({ start, citations }: Extract<OpenBlock, { type: "text" }>, end: number): UrlCitation[] {
  return citations.map(({ url, title, range }) => {
    const start_index = range === null ? start : Math.min(start + range.start, end);
    const end_index = range === null ? end : Math.min(start + range.end, end);
    return { type: "url_citation", url_citation: { url, title: title ?? url, start_index, end_index } };
  });
}
