import type { PartEvent } from "../../protocol/responses/event.ts";
import type { AnswerEvent, Citation, OpenedBlock } from "../conversation/answer-event.ts";
import { createCallIds } from "../conversation/call-ids.ts";
import { plainToolId } from "../conversation/ids.ts";
import {
  openCustomCall,
  openFunctionCall,
  openMessage,
  openReasoning,
  openRefusal,
  type OpenItem,
  type OpenMessage,
} from "./open-item.ts";
import type { Output } from "./output.ts";
import { encodeThought } from "./thought.ts";
import type { WriteContext } from "./write-context.ts";

/** The blocks of an answer, each on its way into an item of the output. */
export interface Blocks {
  take(event: BlockEvent): PartEvent[];
  /** The model has refused in its own words. */
  hasRefusal(): boolean;
}

type BlockEvent = Exclude<AnswerEvent, { type: "start" | "stop" | "ping" | "error" }>;

/** A block between its start and its end. */
type OpenBlock =
  | { type: "text"; start: number; citations: Citation[] }
  | ThinkingBlock
  | { type: "tool_call" | "refusal"; item: OpenItem };

interface ThinkingBlock {
  type: "thinking";
  /** Null until there is content to show or to send back. */
  item: OpenItem | null;
  thinking: string;
  signature: string;
}

export function createBlocks({ asked, requestId }: WriteContext, output: Output): Blocks {
  const callId = createCallIds(requestId);
  const blocks = new Map<number, OpenBlock>();
  let callCount = 0;
  let hasRefusal = false;
  /** Neighbouring text blocks are one message. */
  let message: OpenMessage | null = null;

  function take(event: BlockEvent): PartEvent[] {
    const block = blocks.get(event.index);
    switch (event.type) {
      case "open":
        return open(event.index, event.block);
      case "text":
        return addText(event.text);
      case "thinking":
        return block?.type === "thinking" ? addThinking(block, event.text) : [];
      case "refusal":
      case "arguments":
        return block?.type === "tool_call" || block?.type === "refusal" ? block.item.add(event.text) : [];
      case "signature":
        if (block?.type === "thinking") block.signature = event.signature;
        return [];
      case "citations":
        if (block?.type === "text") for (const citation of event.citations) block.citations.push(citation);
        return [];
      case "close":
        blocks.delete(event.index);
        return block === undefined ? [] : close(block);
    }
  }

  function open(index: number, block: OpenedBlock): PartEvent[] {
    switch (block.type) {
      case "text":
        blocks.set(index, { type: "text", start: message?.length() ?? 0, citations: [] });
        return [];
      case "refusal":
        return startRefusal(index);
      case "thinking":
        blocks.set(index, { type: "thinking", item: null, thinking: "", signature: "" });
        return [];
      case "redacted_thinking":
        return addRedacted(block.data);
      case "tool_call":
        return startCall(index, block);
    }
  }

  function addText(text: string): PartEvent[] {
    if (text === "") return [];
    if (message !== null) return message.add(text);
    const { item, events } = output.open("msg", openMessage);
    message = item;
    return [...events, ...item.add(text)];
  }

  function startRefusal(index: number): PartEvent[] {
    hasRefusal = true;
    const { item, events } = openOther("msg", openRefusal);
    blocks.set(index, { type: "refusal", item });
    return events;
  }

  function addThinking(block: ThinkingBlock, text: string): PartEvent[] {
    if (text === "") return [];
    block.thinking += text;
    const opened = openThinking(block);
    return [...opened, ...(block.item?.add(text) ?? [])];
  }

  function openThinking(block: ThinkingBlock): PartEvent[] {
    if (block.item !== null) return [];
    const encrypted = () => (asked.wantsEncryptedReasoning ? pack(block) : undefined);
    const { item, events } = openOther("rs", (position) => openReasoning(position, encrypted));
    block.item = item;
    return events;
  }

  function pack({ thinking, signature }: ThinkingBlock): string {
    return encodeThought({ model: asked.thinker, thinking, ...(signature !== "" && { signature }) });
  }

  /** Only its server can read it: an item is useful only if it can go back. */
  function addRedacted(data: string): PartEvent[] {
    if (!asked.wantsEncryptedReasoning) return [];
    const encrypted = () => encodeThought({ model: asked.thinker, redacted: data });
    const { item, events } = openOther("rs", (position) => openReasoning(position, encrypted));
    output.markOver(item);
    return events;
  }

  function startCall(index: number, { id, name }: Extract<OpenedBlock, { type: "tool_call" }>): PartEvent[] {
    const tool = asked.clientTools.get(name) ?? { kind: "function", name, namespace: null };
    const call = { callId: callId(plainToolId(id), callCount), tool };
    callCount += 1;
    const { item, events } =
      tool.kind === "custom"
        ? openOther("ctc", (position) => openCustomCall(position, call))
        : openOther("fc", (position) => openFunctionCall(position, call));
    blocks.set(index, { type: "tool_call", item });
    return events;
  }

  /** Any other content ends the message before it. */
  function openOther(...[prefix, make]: Parameters<typeof output.open<OpenItem>>): ReturnType<typeof output.open<OpenItem>> {
    if (message !== null) output.markOver(message);
    message = null;
    return output.open(prefix, make);
  }

  function close(block: OpenBlock): PartEvent[] {
    switch (block.type) {
      case "text":
        return cite(block);
      case "thinking":
        return closeThinking(block);
      case "tool_call":
      case "refusal":
        output.markOver(block.item);
        return [];
    }
  }

  function cite({ start: from, citations }: Extract<OpenBlock, { type: "text" }>): PartEvent[] {
    const cited = message;
    if (cited === null) return [];
    const end = cited.length();
    return citations.flatMap(({ url, title, range }) => {
      const start_index = range === null ? from : Math.min(from + range.start, end);
      const end_index = range === null ? end : Math.min(from + range.end, end);
      return cited.cite({ type: "url_citation", start_index, end_index, url, title: title ?? url });
    });
  }

  /** Thinking that is not shown can still be sent back. */
  function closeThinking(block: ThinkingBlock): PartEvent[] {
    const opened = asked.wantsEncryptedReasoning && block.signature !== "" ? openThinking(block) : [];
    if (block.item !== null) output.markOver(block.item);
    return opened;
  }

  return { take, hasRefusal: () => hasRefusal };
}
