import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, within, withinElements, write, type MemberEdits } from "../../protocol/json/splice.ts";
import { namesOf } from "../responses/item-names.ts";
import { createResponseItems, type ItemParts, type ResponseItem, type ResponseItems } from "./response-items.ts";
import { piecesOf } from "./streamed-response.ts";

/**
 * What clients' libraries require of the events of a response, and some servers leave out or write in another way. OpenAI's keep
 * items and parts by their positions, and throw at a piece of one that has not begun, at another id and at an unknown event.
 */
export interface ResponseForm {
  /** @param json with its type. @returns null for an event that has all; `hide` for one that repeats another. */
  complete(json: JsonObject): CompletedEvent | "hide" | null;
}

export interface CompletedEvent {
  members: MemberEdits;
  /** Events that its server left out before it. */
  missing: readonly JsonObject[];
  /** Its type in the protocol, if that is another one. */
  type?: string;
  /** Of its response. */
  response?: MemberEdits;
}

/** In place of what a server leaves out. */
export interface ResponseFacts {
  requestId: string;
  /** The name that the client requested. */
  model: string;
  nowSeconds: number;
}

/** What an event says about its item. */
interface Piece {
  kind: string | null;
  /** The list of parts that it belongs to, and a part that is empty. */
  list: "content" | "summary" | null;
  part: JsonObject;
}

const NO_PART: JsonObject = {};
const TEXT: Piece = { kind: "message", list: "content", part: { type: "output_text", text: "", annotations: [], logprobs: [] } };
const SUMMARY: Piece = { kind: "reasoning", list: "summary", part: { type: "summary_text", text: "" } };
const REASONING: Piece = { kind: "reasoning", list: "content", part: { type: "reasoning_text", text: "" } };

const PIECES: ReadonlyMap<string, Piece> = new Map<string, Piece>([
  ["output_text", TEXT],
  ["refusal", { kind: "message", list: "content", part: { type: "refusal", refusal: "" } }],
  ["reasoning_text", REASONING],
  ["reasoning_part", REASONING],
  ["reasoning_summary_text", SUMMARY],
  ["reasoning_summary_part", SUMMARY],
  ["function_call_arguments", { kind: "function_call", list: null, part: NO_PART }],
  ["custom_tool_call_input", { kind: "custom_tool_call", list: null, part: NO_PART }],
]);
const UNKNOWN: Piece = { kind: null, list: null, part: NO_PART };

/** Items that begin with nothing but their name. */
const EMPTY_ITEMS: ReadonlyMap<string | null, JsonObject> = new Map([
  ["message", { type: "message", role: "assistant", status: "in_progress", content: [] }],
  ["reasoning", { type: "reasoning", summary: [], content: [] }],
]);

/** Events of an item. */
const OF_AN_ITEM = /^response\.([a-z_]+)\.(?:annotation\.)?(?:delta|done|added)$/;

export function createResponseForm(facts: ResponseFacts): ResponseForm {
  const items = createResponseItems(facts.requestId);
  const number = createNumbering();

  function complete(json: JsonObject): CompletedEvent | "hide" | null {
    const { type, response } = json;
    if (typeof type !== "string" || !type.startsWith("response.")) return null;
    const change = isObject(response) ? completeResponse(response) : completeItem(json, type);
    if (change === "hide") return "hide";
    const missing = change?.missing ?? [];
    const first = number(json, missing.length);
    const own = first + missing.length;
    const members = mergeEdits(change?.members ?? null, own === json["sequence_number"] ? null : { sequence_number: write(own) });
    if (members === null && change === null) return null;
    return {
      ...change,
      members: members ?? {},
      missing: missing.map((event, at) => ({ ...event, sequence_number: first + at })),
    };
  }

  function completeResponse(response: JsonObject): CompletedEvent | null {
    const edits = mergeEdits(headEdits(response, facts), outputEdits(response, items));
    return edits === null ? null : { members: {}, missing: [], response: edits };
  }

  function completeItem(json: JsonObject, type: string): CompletedEvent | "hide" | null {
    const { item } = json;
    const name = OF_AN_ITEM.exec(type)?.[1];
    if (name === undefined) return null;
    const index = isCount(json["output_index"]) ? json["output_index"] : null;
    if (name !== "output_item") return completePiece(json, { type, piece: pieceOf(name, json), index });
    if (!isObject(item)) return null;
    return type === "response.output_item.added" ? beginItem(item, index) : endItem(item, index);
  }

  function beginItem(item: JsonObject, index: number | null): CompletedEvent | "hide" | null {
    const begun = items.begin(index, item);
    if (begun === null) return "hide";
    beginParts(begun.content, item["content"]);
    beginParts(begun.summary, item["summary"]);
    const isEmpty = item["type"] === "message" && !isGiven(item["content"]);
    const inside = mergeEdits(idEdit("id", item["id"], begun), isEmpty ? { content: write([]) } : null);
    return changed(mergeEdits(positionEdit(index, begun), inside === null ? null : { item: within(inside) }));
  }

  function endItem(item: JsonObject, index: number | null): CompletedEvent | "hide" | null {
    const names = namesOf(item);
    const known = items.find({ index, names, kind: item["type"] });
    if (known?.isDone === true && names.length > 0) return "hide";
    const begun = known ?? items.begin(index, item);
    if (begun === null) return "hide";
    begun.isDone = true;
    const renamed = idEdit("id", item["id"], begun);
    const members = mergeEdits(positionEdit(index, begun), renamed === null ? null : { item: within(renamed) });
    return changed(members, known === undefined ? piecesOf({ ...item, id: begun.id }, begun.position) : []);
  }

  function completePiece(json: JsonObject, { type, piece, index }: PieceOf): CompletedEvent | null {
    const { item_id: id } = json;
    const names = namesOf({ id });
    const known = items.find({ index, names, kind: piece.kind });
    const empty = known === undefined ? EMPTY_ITEMS.get(piece.kind) : undefined;
    const begun = known ?? (empty === undefined ? null : items.begin(index, { ...empty, id }));
    // Nothing tells the name of a call that has not begun.
    if (begun === null) return changed(index === null ? { output_index: write(items.latest()) } : null);
    const missing = known === undefined ? [added(begun, { ...empty })] : [];
    const members = mergeEdits(positionEdit(index, begun), idEdit("item_id", id, begun));
    return completePart(json, { type, piece, item: begun, members, missing });
  }

  function completePart(json: JsonObject, { type, piece, item, members, missing }: PartOf): CompletedEvent | null {
    const { list, part } = piece;
    if (list === null) return changed(members, missing);
    const name = list === "content" ? "content_index" : "summary_index";
    const index = isCount(json[name]) ? json[name] : null;
    const parts = item[list];
    const begins = isPart(type) && type.endsWith(".added");
    const known = begins ? undefined : parts.find(index);
    const position = known ?? parts.begin(index);
    const event = { item_id: item.id, output_index: item.position, [name]: position, part };
    const partType = list === "content" ? "response.content_part.added" : "response.reasoning_summary_part.added";
    return changed(
      [index === position ? null : { [name]: write(position) }, formEdits(json, type, item)].reduce(mergeEdits, members),
      known === undefined && !begins ? [...missing, { type: partType, ...event }] : missing,
      type.startsWith("response.reasoning_part.") ? type.replace("reasoning_part", "content_part") : undefined,
    );
  }

  return { complete };
}

/** The same of a complete answer. */
export function completeWholeResponse(response: JsonObject, facts: ResponseFacts): MemberEdits | null {
  return mergeEdits(headEdits(response, facts), outputEdits(response, createResponseItems(facts.requestId)));
}

/** Vercel's SDK rejects one without these. */
function headEdits({ object, created_at: created, model }: JsonObject, facts: ResponseFacts): MemberEdits | null {
  if (isGiven(object) && typeof created === "number" && isGiven(model)) return null;
  return {
    ...(!isGiven(object) && { object: write("response") }),
    ...(typeof created !== "number" && { created_at: write(facts.nowSeconds) }),
    ...(!isGiven(model) && { model: write(facts.model) }),
  };
}

/** Clients know the items of a stream by the ids with which they began. */
function outputEdits({ output }: JsonObject, items: ResponseItems): MemberEdits | null {
  if (!Array.isArray(output)) return null;
  const ids = output.map((item, position) => (isObject(item) ? items.idOf(item, position) : null));
  if (ids.every((id) => id === null)) return null;
  return { output: withinElements(ids.map((id) => (id === null ? null : { id: write(id) }))) };
}

interface PieceOf {
  /** Of the event. */
  type: string;
  piece: Piece;
  index: number | null;
}

interface PartOf {
  type: string;
  piece: Piece;
  item: ResponseItem;
  members: MemberEdits | null;
  missing: readonly JsonObject[];
}

function pieceOf(name: string, { part }: JsonObject): Piece {
  const described = name === "content_part" && isObject(part) ? part["type"] : name;
  return (typeof described === "string" ? PIECES.get(described) : undefined) ?? UNKNOWN;
}

function changed(members: MemberEdits | null, missing: readonly JsonObject[] = [], type?: string): CompletedEvent | null {
  if (members === null && missing.length === 0 && type === undefined) return null;
  return {
    members: { ...members, ...(type !== undefined && { type: write(type) }) },
    missing,
    ...(type !== undefined && { type }),
  };
}

/** SDKs for Python read log probabilities of every piece of text. vLLM has an event of its own for parts of reasoning. */
function formEdits({ logprobs, part }: JsonObject, type: string, item: ResponseItem): MemberEdits | null {
  const isText = type === "response.output_text.delta" || type === "response.output_text.done";
  if (isText) return logprobs === undefined ? { logprobs: write([]) } : null;
  const isOther = item.kind === "reasoning" && isPart(type) && isObject(part) && part["type"] === "output_text";
  return isOther ? { part: within({ type: write("reasoning_text") }) } : null;
}

function isPart(type: string): boolean {
  return /_part\.(?:added|done)$/.test(type);
}

function added({ position, id }: ResponseItem, item: JsonObject): JsonObject {
  return { type: "response.output_item.added", output_index: position, item: { ...item, id } };
}

function beginParts(parts: ItemParts, list: unknown): void {
  if (Array.isArray(list)) for (const index of list.keys()) parts.begin(index);
}

function positionEdit(index: number | null, { position }: ResponseItem): MemberEdits | null {
  return index === position ? null : { output_index: write(position) };
}

function idEdit(name: string, written: unknown, { id }: ResponseItem): MemberEdits | null {
  return written === id ? null : { [name]: write(id) };
}

/** The number of an event, or of the first of those before it that its server left out, in the order in which the client gets them. */
function createNumbering(): (json: JsonObject, missing: number) => number {
  let next = 0;
  let inserted = 0;
  return ({ sequence_number: given }, missing) => {
    const first = isCount(given) ? Math.max(given + inserted, next) : next;
    inserted += missing;
    next = first + missing + 1;
    return first;
  };
}
