import { checkBlocks, createAnswerSize } from "../../protocol/answer-bounds.ts";

/**
 * A Responses stream sends each text in pieces, and then whole again: at the end of its part, of its item and of the response.
 * Identical text is counted once; the client reads text that differs as well.
 */
export interface RepeatedText {
  /** A piece of the text at this index. @throws GatewayError `upstream_error` for more text than any answer has. */
  add(key: string, piece: string): void;
  /** The bytes that were not sent before. From now on all of them count as sent. */
  unheard(texts: readonly string[]): string[];
}

export function createRepeatedText(): RepeatedText {
  const pieces = new Map<string, string>();
  const whole = new Set<string>();
  const size = createAnswerSize();

  return {
    add(key, piece) {
      size.keep(piece.length);
      pieces.set(key, (pieces.get(key) ?? "") + piece);
      // Empty pieces have no length.
      checkBlocks(pieces.size);
    },
    unheard(texts) {
      for (const text of pieces.values()) whole.add(text);
      pieces.clear();
      return texts.filter((text) => {
        const isNew = !whole.has(text);
        if (isNew) size.keep(text.length);
        whole.add(text);
        return isNew;
      });
    },
  };
}
