import { textOf, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, remove, write, type MemberEdits } from "../../protocol/json/splice.ts";
import { hasArguments, NO_ARGUMENTS, textArguments } from "./call-form.ts";

/** The call of a stream whose client offers `functions`: an answer has one, without an id. */
export interface LegacyPieces {
  /** @param isEnd no more of the call follows, and it is complete. @returns null for a piece that has what clients require. */
  complete(piece: JsonObject, isEnd: boolean): MemberEdits | null;
  /** Has the call no arguments? Once: clients parse them. */
  isWithoutArguments(): boolean;
}

export function createLegacyPieces(): LegacyPieces {
  let name = "";
  let hasBegun = false;
  let isEmpty = false;

  /** SDKs throw at a call whose pieces have no arguments at all, and join its names as they join arguments. */
  function completePiece(piece: JsonObject): MemberEdits | null {
    const isFirst = !hasBegun;
    hasBegun = true;
    if (!isFirst) return mergeEdits(textArguments(piece), piece["name"] === name && name !== "" ? { name: remove } : null);
    name = textOf(piece["name"]);
    return (piece["arguments"] ?? null) === null ? { arguments: write("") } : textArguments(piece);
  }

  return {
    complete(piece, isEnd) {
      isEmpty = !hasArguments(piece) && (isEmpty || !hasBegun);
      const edits = completePiece(piece);
      if (!isEnd || !isEmpty) return edits;
      isEmpty = false;
      return { ...edits, ...NO_ARGUMENTS };
    },
    isWithoutArguments() {
      const wasEmpty = isEmpty;
      isEmpty = false;
      return wasEmpty;
    },
  };
}
