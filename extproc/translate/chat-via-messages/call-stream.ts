import type { Delta } from "../../protocol/chat/encode.ts";
import type { AnswerBlock } from "../../protocol/messages/answer-block.ts";
import { createCallIds, translateCall, type AnswerContext } from "./answer.ts";

/** One tool call of a stream, between its block's start and stop. */
export interface StreamedCall {
  /** What the client gets when the call begins. */
  readonly opening: Delta[];
  /** A piece of the arguments' JSON text. */
  add(partialJson: string): Delta[];
  /** The block is over. */
  stop(): Delta[];
}

export interface CallStream {
  start(block: Extract<AnswerBlock, { type: "tool_use" }>): StreamedCall;
  /** Calls so far. Chat counts them by themselves, messages among all blocks. */
  count(): number;
}

/** @param produced takes arguments that came whole with the block's start, for the meter. */
export function createCallStream({ facts, requestId }: AnswerContext, produced: (text: string) => void): CallStream {
  const callId = createCallIds(requestId);
  let count = 0;

  function start(block: Extract<AnswerBlock, { type: "tool_use" }>): StreamedCall {
    const index = count;
    const id = callId(block.id, index);
    const name = facts.names.toClient(block.name);
    count += 1;
    const shape = chooseShape(name, index);
    let written = "";

    function add(partialJson: string): Delta[] {
      written += partialJson;
      return shape.piece(partialJson);
    }

    function stop(): Delta[] {
      if (written !== "") return shape.whole(written);
      // Some servers put the whole input into the block's start; a call without arguments has none anywhere.
      if (block.input !== "{}") produced(block.input);
      return [...shape.piece(block.input), ...shape.whole(block.input)];
    }

    return { opening: shape.opening, add, stop };

    function chooseShape(name: string, index: number): Shape {
      // `function_call` holds one call; the request has asked the upstream for no more.
      if (facts.isLegacy) return index === 0 ? legacyShape(name) : HIDDEN;
      return facts.customTools.has(name) ? customShape(index) : functionShape(index, id, name);
    }

    function customShape(index: number): Shape {
      const call = (input: string) => translateCall({ id, name: block.name, input }, facts);
      return { ...HIDDEN, whole: (input) => [{ tool_calls: [{ index, ...call(input) }] }] };
    }
  }

  return {
    start,
    count: () => count,
  };
}

/** How the client's dialect tells a call: as it begins, piece by piece, or whole at its end. */
interface Shape {
  opening: Delta[];
  piece(partialJson: string): Delta[];
  whole(input: string): Delta[];
}

const HIDDEN: Shape = { opening: [], piece: () => [], whole: () => [] };

function functionShape(index: number, id: string, name: string): Shape {
  return {
    opening: [{ tool_calls: [{ index, id, type: "function", function: { name, arguments: "" } }] }],
    piece: (text) => [{ tool_calls: [{ index, function: { arguments: text } }] }],
    whole: () => [],
  };
}

function legacyShape(name: string): Shape {
  return {
    opening: [{ function_call: { name, arguments: "" } }],
    piece: (text) => [{ function_call: { arguments: text } }],
    whole: () => [],
  };
}
