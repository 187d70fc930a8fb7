import { checkBlocks, createAnswerSize } from "../../protocol/answer-bounds.ts";
import type { AnswerBlock } from "../../protocol/messages/answer-block.ts";
import type { AnswerEvent } from "../../protocol/messages/answer-event.ts";

/**
 * The answer of a model that had to give it as a tool's input (profile flag `jsonSchema: tool`): the input becomes the text, and
 * streams as it arrives. Other text next to it would spoil the JSON and is omitted; it waits until it is known whether the model
 * called a tool, because otherwise it is the answer.
 */
export function createAnswerUnwrapper(tool: string): (event: AnswerEvent) => AnswerEvent[] {
  let waiting: AnswerEvent[] = [];
  const size = createAnswerSize();
  let answer: { index: number; input: string; hasDeltas: boolean } | undefined;
  /** Blocks whose events wait, or are omitted. */
  const hidden = new Set<number>();

  return (event) => {
    switch (event.type) {
      case "content_block_start":
        return start(event);
      case "content_block_delta":
        if (event.index === answer?.index) return addDelta(event);
        return hidden.has(event.index) ? wait(event) : [event];
      case "content_block_stop":
        if (event.index === answer?.index) return [...rest(event.index), event];
        return hidden.has(event.index) ? wait(event) : [event];
      case "message_delta":
        // The usage of all text arrives with the stop reason, so text that waited has to be counted before it.
        return event.stopReason === null ? [event] : [...release(), event];
      case "message_stop":
        return [...release(), event];
      case "message_start":
      case "ping":
      case "error":
        return [event];
    }
  };

  function start(event: Extract<AnswerEvent, { type: "content_block_start" }>): AnswerEvent[] {
    const { index, block } = event;
    if (block.type === "tool_use" && block.name === tool && answer === undefined) {
      answer = { index, input: block.input, hasDeltas: false };
      waiting = [];
      return [{ ...event, block: { type: "text", text: "", citations: [] } }];
    }
    if (block.type !== "text" && !isAnswer(block, tool)) return [event];
    hidden.add(index);
    checkBlocks(hidden.size);
    return wait(event);
  }

  function wait(event: AnswerEvent): AnswerEvent[] {
    if (answer !== undefined) return [];
    size.keep(charactersOf(event));
    waiting.push(event);
    return [];
  }

  /** The model called no tool: its text is the answer. */
  function release(): AnswerEvent[] {
    const released = waiting;
    waiting = [];
    return released;
  }

  function addDelta(event: Extract<AnswerEvent, { type: "content_block_delta" }>): AnswerEvent[] {
    if (answer === undefined || event.delta.type !== "input_json_delta") return [];
    answer.hasDeltas ||= event.delta.partialJson !== "";
    return [{ ...event, delta: { type: "text_delta", text: event.delta.partialJson } }];
  }

  /** Some servers put the whole input into the block's start. */
  function rest(index: number): AnswerEvent[] {
    if (answer === undefined || answer.hasDeltas) return [];
    return [{ type: "content_block_delta", index, delta: { type: "text_delta", text: answer.input } }];
  }
}

/** Around the text of an event that waits. */
const EVENT_CHARACTERS = 64;

function charactersOf(event: AnswerEvent): number {
  const holder = event.type === "content_block_start" ? event.block : event.type === "content_block_delta" ? event.delta : {};
  const texts = Object.values(holder).filter((value) => typeof value === "string");
  return texts.reduce((characters, text) => characters + text.length, EVENT_CHARACTERS);
}

function isAnswer(block: AnswerBlock, tool: string): boolean {
  return block.type === "tool_use" && block.name === tool;
}
