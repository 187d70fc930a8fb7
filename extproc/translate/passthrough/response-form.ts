import { isCount } from "../../protocol/json/count.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, within, write, type MemberEdits } from "../../protocol/json/splice.ts";
import { createItemPositions } from "../responses/item-positions.ts";

/**
 * What clients' libraries require of the events of a response, and some servers leave out (llama.cpp): they keep items and parts
 * by their positions, and throw without one.
 */
export interface ResponseForm {
  /** @param json with its type. Null for an event that has all. */
  complete(json: JsonObject): MemberEdits | null;
}

/** Events of a part of an item. */
const OF_A_PART = /^response\.(?:content_part|output_text|refusal|reasoning_text)\./;
const OF_A_SUMMARY = /^response\.reasoning_summary_(?:part|text)\./;
/** Events of an item. */
const OF_AN_ITEM = /\.(?:delta|done|added)$/;

export function createResponseForm(): ResponseForm {
  const positions = createItemPositions();
  const ids = new Map<number, string>();

  return {
    complete(json) {
      const { type, item } = json;
      if (typeof type !== "string" || isObject(json["response"]) || !OF_AN_ITEM.test(type)) return null;
      const index = isCount(json["output_index"]) ? json["output_index"] : null;
      if (type === "response.output_item.added") return itemEdits(json, index, positions.begin(index, item));
      if (type === "response.output_item.done") return itemEdits(json, index, positions.finish(index, item));
      return pieceEdits(json, type, index);
    },
  };

  function itemEdits({ item }: JsonObject, index: number | null, position: number): MemberEdits | null {
    if (!isObject(item)) return numbered("output_index", index, position);
    if (typeof item["id"] === "string") ids.set(position, item["id"]);
    const isEmpty = item["type"] === "message" && (item["content"] ?? null) === null;
    return mergeEdits(numbered("output_index", index, position), isEmpty ? { item: within({ content: write([]) }) } : null);
  }

  function pieceEdits(json: JsonObject, type: string, index: number | null): MemberEdits | null {
    const { item_id: id } = json;
    const isNamed = typeof id === "string" && id !== "";
    const position = positions.piece(index, isNamed ? id : null);
    const known = isNamed ? undefined : ids.get(position);
    const part = OF_A_PART.test(type) ? "content_index" : OF_A_SUMMARY.test(type) ? "summary_index" : null;
    return mergeEdits(
      mergeEdits(numbered("output_index", index, position), known === undefined ? null : { item_id: write(known) }),
      part === null || isCount(json[part]) ? null : { [part]: write(0) },
    );
  }
}

function numbered(name: string, index: number | null, position: number): MemberEdits | null {
  return index === null ? { [name]: write(position) } : null;
}
