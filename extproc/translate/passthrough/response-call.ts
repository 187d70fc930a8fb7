import { textOf, type JsonObject } from "../../protocol/json/object.ts";
import type { ResponseItem } from "../responses/response-items.ts";
import { NO_ARGUMENTS } from "./item-form.ts";

interface CallPiece {
  type: string;
  /** What it is about. */
  name: string;
  /** The member of its end that has the call's text. */
  member: string;
  item: ResponseItem;
  /** What the pieces before it had. */
  written(): JsonObject | undefined;
}

/**
 * A piece of a call's text, or the text's end, which clients parse.
 * @returns its own members that change, and the pieces that its server left out before it; `hide` for one in which a client can
 * read nothing: the end of the call has it.
 */
export function completeCallText(
  json: JsonObject,
  { type, name, member, item, written }: CallPiece,
): { values: JsonObject; missing: readonly JsonObject[] } | "hide" {
  const isEnd = type.endsWith(".done");
  const given = json[isEnd ? member : "delta"] ?? "";
  const isWritten = typeof given === "string" && given !== "";
  if (typeof given !== "string" && !(isEnd && item.hasPieces)) return "hide";
  // A server could repeat a short event, and all the text with it.
  if (isEnd && !isWritten && item.isTextDone) return "hide";
  const hadPieces = item.hasPieces;
  const text = isEnd && !isWritten ? textOfAll() : textOf(given);
  item.hasPieces ||= text !== "";
  item.isTextDone ||= isEnd;
  const isMissing = isEnd && !hadPieces && text !== "";
  const location = { item_id: item.id, output_index: item.position };
  return {
    values: isEnd && json[member] !== text ? { [member]: text } : {},
    missing: isMissing ? [{ type: `response.${name}.delta`, ...location, delta: text }] : [],
  };

  function textOfAll(): string {
    if (item.hasPieces) return textOf(written()?.[member]);
    return member === "arguments" ? NO_ARGUMENTS : "";
  }
}
