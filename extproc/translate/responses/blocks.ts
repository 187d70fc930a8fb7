import type { AnswerBlock, Citation } from "../../protocol/messages/answer-block.ts";
import type { AnswerDelta } from "../../protocol/messages/answer-event.ts";
import type { PartEvent } from "../../protocol/responses/event.ts";
import { createCallIds } from "../chat-via-messages/answer.ts";
import { plainToolId } from "../conversation/ids.ts";
import { isGatewaySignature } from "../conversation/signature.ts";
import { openCustomCall, openFunctionCall, openMessage, openReasoning, type OpenItem, type OpenMessage } from "./open-item.ts";
import type { Output } from "./output.ts";
import type { AnswerFacts } from "./request.ts";
import { encodeThought } from "./thought.ts";

/** The content blocks of a message, each on its way into an item of the output. */
export interface Blocks {
  start(index: number, block: AnswerBlock): PartEvent[];
  add(index: number, delta: AnswerDelta): PartEvent[];
  stop(index: number): PartEvent[];
  /** Stops those that the server left open. */
  stopAll(): PartEvent[];
}

export interface BlocksDeps {
  facts: AnswerFacts;
  requestId: string;
  output: Output;
}

/** A block between its start and its stop. */
type OpenBlock =
  | { type: "text"; start: number; citations: Citation[] }
  | ThinkingBlock
  | { type: "tool_use"; item: OpenItem; input: string; hasDeltas: boolean }
  | { type: "other" };

interface ThinkingBlock {
  type: "thinking";
  /** Null until there is something to show or to send back. */
  item: OpenItem | null;
  thinking: string;
  signature: string;
}

export function createBlocks({ facts, requestId, output }: BlocksDeps): Blocks {
  const callId = createCallIds(requestId);
  const blocks = new Map<number, OpenBlock>();
  let callCount = 0;
  /** Neighbouring text blocks are one message. */
  let message: OpenMessage | null = null;

  function start(index: number, block: AnswerBlock): PartEvent[] {
    switch (block.type) {
      case "text":
        blocks.set(index, { type: "text", start: message?.length() ?? 0, citations: [...block.citations] });
        return addText(block.text);
      case "thinking": {
        const opened: ThinkingBlock = { type: "thinking", item: null, thinking: "", signature: block.signature };
        blocks.set(index, opened);
        return addThinking(opened, block.thinking);
      }
      case "redacted_thinking":
        return addRedacted(block.data);
      case "tool_use":
        return startCall(index, block);
      case "other":
        blocks.set(index, { type: "other" });
        return [];
    }
  }

  function add(index: number, delta: AnswerDelta): PartEvent[] {
    const block = blocks.get(index);
    switch (delta.type) {
      case "text_delta":
        return addText(delta.text);
      case "thinking_delta":
        return block?.type === "thinking" ? addThinking(block, delta.thinking) : [];
      case "signature_delta":
        if (block?.type === "thinking") block.signature = delta.signature;
        return [];
      case "input_json_delta":
        if (block?.type !== "tool_use" || delta.partialJson === "") return [];
        block.hasDeltas = true;
        return block.item.add(delta.partialJson);
      case "citations_delta":
        if (block?.type === "text") block.citations.push(...delta.citations);
        return [];
      case "other":
        return [];
    }
  }

  function addText(text: string): PartEvent[] {
    if (text === "") return [];
    if (message !== null) return message.add(text);
    const { item, events } = output.open("msg", openMessage);
    message = item;
    return [...events, ...item.add(text)];
  }

  function addThinking(block: ThinkingBlock, text: string): PartEvent[] {
    if (text === "") return [];
    block.thinking += text;
    const opened = openThinking(block);
    return [...opened, ...(block.item?.add(text) ?? [])];
  }

  function openThinking(block: ThinkingBlock): PartEvent[] {
    if (block.item !== null) return [];
    const encrypted = () => (facts.wantsEncryptedReasoning ? pack(block) : undefined);
    const { item, events } = openOther("rs", (place) => openReasoning(place, encrypted));
    block.item = item;
    return events;
  }

  /** The gateway's own signatures say nothing to anyone. */
  function pack({ thinking, signature }: ThinkingBlock): string {
    const isServers = signature !== "" && !isGatewaySignature(signature);
    return encodeThought({ model: facts.thinker, thinking, ...(isServers && { signature }) });
  }

  /** Nobody but its server can read it: it is worth an item only where it can go back. */
  function addRedacted(data: string): PartEvent[] {
    if (!facts.wantsEncryptedReasoning) return [];
    const encrypted = () => encodeThought({ model: facts.thinker, redacted: data });
    const { item, events } = openOther("rs", (place) => openReasoning(place, encrypted));
    output.markOver(item);
    return events;
  }

  function startCall(index: number, block: Extract<AnswerBlock, { type: "tool_use" }>): PartEvent[] {
    const name = facts.names.toClient(block.name);
    const tool = facts.clientTools.get(name) ?? { kind: "function", name, namespace: null };
    const call = { callId: callId(plainToolId(block.id), callCount), tool };
    callCount += 1;
    const { item, events } =
      tool.kind === "custom"
        ? openOther("ctc", (place) => openCustomCall(place, call))
        : openOther("fc", (place) => openFunctionCall(place, call));
    blocks.set(index, { type: "tool_use", item, input: block.input, hasDeltas: false });
    return events;
  }

  /** Whatever is no text ends the message before it. */
  function openOther(...[prefix, make]: Parameters<typeof output.open<OpenItem>>): ReturnType<typeof output.open<OpenItem>> {
    if (message !== null) output.markOver(message);
    message = null;
    return output.open(prefix, make);
  }

  function stop(index: number): PartEvent[] {
    const block = blocks.get(index);
    blocks.delete(index);
    switch (block?.type) {
      case "text":
        return cite(block);
      case "thinking":
        return stopThinking(block);
      case "tool_use":
        output.markOver(block.item);
        // Some servers put the whole input into the block's start; a call without arguments has none anywhere.
        return block.hasDeltas ? [] : block.item.add(block.input);
      case "other":
      case undefined:
        return [];
    }
  }

  function cite({ start: from, citations }: Extract<OpenBlock, { type: "text" }>): PartEvent[] {
    const cited = message;
    if (cited === null) return [];
    const range = { start_index: from, end_index: cited.length() };
    return citations.flatMap(({ url, title }) => cited.cite({ type: "url_citation", ...range, url, title: title ?? url }));
  }

  /** Thinking that is not shown can still be sent back. */
  function stopThinking(block: ThinkingBlock): PartEvent[] {
    const opened = facts.wantsEncryptedReasoning && block.signature !== "" ? openThinking(block) : [];
    if (block.item !== null) output.markOver(block.item);
    return opened;
  }

  return { start, add, stop, stopAll: () => [...blocks.keys()].flatMap(stop) };
}
