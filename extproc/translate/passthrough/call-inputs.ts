import { createAnswerSize } from "../../protocol/answer-bounds.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { inputText } from "../../protocol/messages/answer-block.ts";
import { encodeMessagesEvent } from "../../protocol/messages/encode-event.ts";

/**
 * The inputs that a server sends whole, with the starts of calls: LangChain reads those of deltas alone. Each waits for the end of its
 * call, because some servers send it in deltas as well.
 */
export interface CallInputs {
  /** @param data of the call's start. @returns whether there is one. */
  begin(position: number, data: string): boolean;
  /** @param piece of an input, in a delta. @returns whether one still waits. */
  extend(position: number, piece: unknown): boolean;
  /** What comes before the end of the block. */
  end(position: number): string;
  heldBytes(): number;
}

export function createCallInputs(): CallInputs {
  const inputs = new Map<number, string>();
  const size = createAnswerSize();
  let held = 0;

  function keep(characters: number): void {
    held += characters;
    size.keep(characters);
  }

  function take(position: number): string {
    const input = inputs.get(position) ?? "";
    inputs.delete(position);
    keep(-input.length);
    return input;
  }

  return {
    begin(position, data) {
      const input = inputText(rawMember(rawMember(Buffer.from(data), "content_block"), "input"));
      if (/^\{\s*\}$/.test(input)) return false;
      inputs.set(position, input);
      keep(input.length);
      return true;
    },
    extend(position, piece) {
      if (inputs.size === 0 || !inputs.has(position)) return false;
      if ((piece ?? "") !== "") take(position);
      return inputs.has(position);
    },
    end(position) {
      if (inputs.size === 0) return "";
      const input = take(position);
      if (input === "") return "";
      return encodeMessagesEvent({
        type: "content_block_delta",
        index: position,
        delta: { type: "input_json_delta", partial_json: input },
      });
    },
    heldBytes: () => held,
  };
}
