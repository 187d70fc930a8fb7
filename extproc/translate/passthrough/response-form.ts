import type { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import { brokenOff } from "../../protocol/broken-answer.ts";
import { isGiven, isObject, parseObject, type JsonObject } from "../../protocol/json/object.ts";
import { positionIn } from "../../protocol/json/position.ts";
import { encodeForeign } from "../../protocol/json/raw.ts";
import { editMembers, mergeEdits, withinElements, write, writeAll, type MemberEdits } from "../../protocol/json/splice.ts";
import { namesOf } from "../responses/item-names.ts";
import { FINAL_EVENTS } from "../../protocol/responses/final-events.ts";
import { completeItemEnd, completeItemStart, completePartText, lacksText, partType, renamed } from "./item-form.ts";
import { completeCallText } from "./response-call.ts";
import { CALLS, EMPTY_ITEMS, pieceOf, TEXT_MEMBERS, type Piece } from "./response-piece.ts";
import { createNumbering } from "./event-numbers.ts";
import { withOmitted, type StreamedItem } from "./omitted-items.ts";
import { createResponseHead, type ResponseFacts } from "./response-head.ts";
import { isCutOff, missingStatus, STATUSES } from "./response-status.ts";
import { completeResponseUsage } from "./response-usage.ts";
import { createResponseItems, type ItemParts, type ResponseItem } from "../responses/response-items.ts";
import { piecesOf } from "./streamed-response.ts";

/**
 * What clients' libraries require of the events of a response, and some servers leave out or write in another way. OpenAI's keep
 * items and parts by their positions, and throw at a piece of one that has not begun, at another id and at an unknown event.
 */
export interface ResponseForm {
  /**
   * @param json with its type.
   * @returns null for an event that has all; `hide` for one that repeats another; an error in place of another response's start:
   * its pieces would be added to those of the first.
   */
  complete(json: JsonObject): CompletedEvent | "hide" | GatewayError | null;
}

export interface CompletedEvent {
  /** Its own members that change. */
  values: JsonObject;
  /** What changes inside others of them. */
  inside: { readonly [Name in "item" | "part" | "response"]?: MemberEdits };
  /** Events that its server left out before it. */
  missing: readonly JsonObject[];
}

/** Events of an item. */
const OF_AN_ITEM = /^response\.([a-z_]+)\.(?:annotation\.)?(?:delta|done|added)$/;

/** What the client has, or pays for, by now. */
interface SoFar {
  /** What an item holds, by the client's position. */
  contentOf(position: number): JsonObject | undefined;
  /** The gateway's count, for a server that reports none; null to leave usage as it is. */
  counted: (() => Usage) | null;
}

export function createResponseForm(facts: ResponseFacts, { contentOf, counted }: SoFar): ResponseForm {
  const head = createResponseHead(facts);
  const items = createResponseItems(facts.requestId);
  const number = createNumbering();
  let hasEnded = false;

  function complete(json: JsonObject): CompletedEvent | "hide" | GatewayError | null {
    const { type, response } = json;
    if (typeof type !== "string" || !type.startsWith("response.")) return null;
    if (head.isOther(json)) return brokenOff();
    const start = head.begin(json);
    const change = isObject(response) ? completeResponse(response, type) : completeItem(json, type);
    if (change === "hide") return "hide";
    const missing = [...(start === null ? [] : [start]), ...(change?.missing ?? [])];
    const first = number(json, missing.length);
    const own = first + missing.length;
    if (change === null && missing.length === 0 && own === json["sequence_number"]) return null;
    return {
      values: own === json["sequence_number"] ? (change?.values ?? {}) : { ...change?.values, sequence_number: own },
      inside: change?.inside ?? {},
      missing: missing.map((event, at) => ({ ...event, sequence_number: first + at })),
    };
  }

  function completeResponse(response: JsonObject, type: string): CompletedEvent | null {
    const status = missingStatus(response, STATUSES.get(type));
    const missing = { ...head.missing(response), ...status };
    const output = elementsOf(response["output"]);
    const known = items.match(output);
    const isEnd = FINAL_EVENTS.includes(type);
    const isCut = isCutOff(response, status);
    const ends = isEnd ? endItems(output, known, isCut) : [];
    const usage = counted === null ? null : completeResponseUsage(response, isEnd ? counted : null);
    const members = mergeEdits(headEdits(missing), usage);
    const completeItemAt = (item: JsonObject, at: number) => {
      const begun = known[at];
      if (begun !== undefined && isEnd) return endEdits(begun, item, { isFirst: !hasEnded, isCut });
      return renamed(item, begun ?? items.nameOf(item, at));
    };
    const listed = outputEdits(output, completeItemAt);
    const edits = mergeEdits(members, isEnd && !hasEnded ? completeOutput(listed, known) : listed);
    hasEnded ||= isEnd;
    return edits === null && ends.length === 0 ? null : { values: {}, inside: { response: edits ?? {} }, missing: ends };
  }

  function completeOutput(listed: MemberEdits | null, known: readonly (ResponseItem | undefined)[]): MemberEdits | null {
    // What to do with none at all is the caller's.
    const omitted = known.length === 0 ? [] : items.others(known);
    if (omitted.length === 0) return listed;
    const positions = known.map((item) => item?.position);
    return {
      output: (written = NOTHING) => withOmitted(listed?.["output"]?.(written) ?? written, positions, omitted.map(writtenSoFar)),
    };
  }

  function writtenSoFar({ position }: ResponseItem): StreamedItem {
    const item = contentOf(position);
    return { position, written: item === undefined ? null : encodeForeign(item) };
  }

  /** Some servers never end their items, and LiteLLM, for those that do not stream, sends calls at the end alone. */
  function endItems(output: readonly JsonObject[], known: (ResponseItem | undefined)[], isCut: boolean): JsonObject[] {
    const isKept = new Set(known);
    const ends = items
      .open()
      .filter((item) => !isKept.has(item))
      .flatMap((item) => endOf(item, contentOf(item.position) ?? {}, isCut));
    for (const [at, item] of output.entries()) {
      const begun = item === NO_ITEM ? undefined : (known[at] ??= items.begin(null, item) ?? undefined);
      if (begun !== undefined && !begun.isDone) ends.push(...endOf(begun, item, isCut));
    }
    return ends;
  }

  function endOf(begun: ResponseItem, item: JsonObject, isCut: boolean): JsonObject[] {
    const whole = edited(item, endEdits(begun, item, { isFirst: !begun.isDone, isCut }));
    const done = { type: "response.output_item.done", output_index: begun.position, item: whole };
    const pieces = piecesBefore(begun, whole);
    begun.isDone = true;
    return [...pieces, done];
  }

  function endEdits(begun: ResponseItem, item: JsonObject, { isFirst, isCut = false }: ItemEnd): MemberEdits | null {
    const names = renamed(item, begun);
    let written: JsonObject | undefined;
    const once = () => (written ??= contentOf(begun.position));
    return isFirst ? mergeEdits(names, completeItemEnd(item, { written: once, isCut })) : names;
  }

  function completeItem(json: JsonObject, type: string): CompletedEvent | "hide" | null {
    const { item } = json;
    const name = OF_AN_ITEM.exec(type)?.[1];
    if (name === undefined) return null;
    const index = json["output_index"];
    if (name !== "output_item") return completePiece(json, { type, name, piece: pieceOf(name, json), index });
    if (!isObject(item)) return null;
    return type === "response.output_item.added" ? beginItem(item, index) : endItem(item, index);
  }

  /** @param index as its server gave it. */
  function beginItem(item: JsonObject, index: unknown): CompletedEvent | "hide" | null {
    const begun = items.begin(positionIn(index), item);
    if (begun === null) return "hide";
    begun.isShown = true;
    begun.hasContent = !isEmpty(item);
    beginParts(begun.content, item["content"]);
    beginParts(begun.summary, item["summary"]);
    if (begun.hasContent) begun.content.heard.add(0);
    begun.hasPieces = begun.hasContent;
    const inside = mergeEdits(renamed(item, begun), completeItemStart(item));
    return changed(numbered("output_index", index, begun.position), inside === null ? {} : { item: inside });
  }

  function endItem(item: JsonObject, index: unknown): CompletedEvent | "hide" | null {
    const names = namesOf(item);
    const position = positionIn(index);
    const known = items.find({ index: position, names, kind: item["type"] });
    if (known?.isDone === true && names.length > 0) return "hide";
    const begun = known ?? items.begin(position, item);
    if (begun === null) return "hide";
    const edits = endEdits(begun, item, { isFirst: !begun.isDone });
    const missing = begun.hasContent ? [] : piecesBefore(begun, edited(item, edits));
    begun.isDone = true;
    return changed(numbered("output_index", index, begun.position), edits === null ? {} : { item: edits }, missing);
  }

  function completePiece(json: JsonObject, { type, name, piece, index }: PieceOf): CompletedEvent | "hide" | null {
    const { item_id: id } = json;
    const names = namesOf({ id });
    if (isEndWithoutText(json, { type, name, piece })) return "hide";
    const outputPosition = positionIn(index);
    const known = items.find({ index: outputPosition, names, kind: piece.kind });
    const empty = known === undefined ? EMPTY_ITEMS.get(piece.kind) : undefined;
    const begun = known ?? (empty === undefined ? null : items.begin(outputPosition, { ...empty, id }));
    // Nothing tells the name of a call that has not begun: its end has what its pieces had.
    if (begun === null && CALLS.has(piece.kind)) return "hide";
    if (begun === null) return changed(numbered("output_index", index, outputPosition ?? items.latest()));
    const missing = known === undefined ? [added(begun, { ...empty })] : [];
    const values = { ...numbered("output_index", index, begun.position), ...(id !== begun.id && { item_id: begun.id }) };
    const text = CALLS.has(piece.kind) ? completeCall(json, { type, name, item: begun }) : null;
    if (text === "hide") return "hide";
    begun.isShown = true;
    begun.hasContent = true;
    const { list } = piece;
    if (list === null) return changed({ ...values, ...text?.values }, {}, text?.missing);
    return completePart(json, { type, name, list, part: piece.part, item: begun, values, missing });
  }

  function completeCall(json: JsonObject, { type, name, item }: { type: string; name: string; item: ResponseItem }) {
    const member = TEXT_MEMBERS.get(name) ?? "";
    return completeCallText(json, { type, name, member, item, written: () => contentOf(item.position) });
  }

  function completePart(json: JsonObject, { type, name, list, part, item, values, missing }: PartOf): CompletedEvent | null {
    const indexName = list === "content" ? "content_index" : "summary_index";
    const index = positionIn(json[indexName]);
    const parts = item[list];
    const begins = isPart(type) && type.endsWith(".added");
    const known = begins ? undefined : parts.find(index);
    const position = known ?? parts.begin(index);
    const location = { item_id: item.id, output_index: item.position, [indexName]: position };
    const partType = list === "content" ? "response.content_part.added" : "response.reasoning_summary_part.added";
    const start = known === undefined && !begins ? [{ type: partType, ...location, part }] : [];
    if (begins && hasText(json["part"])) parts.heard.add(position);
    return changed(
      {
        ...values,
        ...numbered(indexName, json[indexName], position),
        ...(isTextWithoutLogprobs(json, type) && { logprobs: [] }),
        ...(type.startsWith("response.reasoning_part.") && { type: type.replace("reasoning_part", "content_part") }),
      },
      partEdits(json, type, item),
      [...missing, ...start, ...deltasBefore(json, { type, name, location, heard: parts.heard, position })],
    );
  }

  return { complete };
}

/** The same of a complete answer. */
export function completeWholeResponse(response: JsonObject, facts: ResponseFacts, counted: () => Usage): MemberEdits | null {
  const status = missingStatus(response, isObject(response["incomplete_details"]) ? "incomplete" : "completed");
  const missing = { ...createResponseHead(facts).missing(response), ...status };
  const isCut = isCutOff(response, status);
  const items = createResponseItems(facts.requestId);
  const elements = elementsOf(response["output"]);
  const output = outputEdits(elements, (item, at) =>
    mergeEdits(
      renamed(item, items.begin(at, item) ?? items.nameOf(item, at)),
      completeItemEnd(item, { written: () => undefined, isCut: isCut && at === elements.length - 1 }),
    ),
  );
  return mergeEdits(mergeEdits(headEdits(missing), completeResponseUsage(response, counted)), output);
}

function headEdits(missing: JsonObject): MemberEdits | null {
  return Object.keys(missing).length === 0 ? null : writeAll(missing);
}

const NOTHING = Buffer.alloc(0);
const NO_ITEM: JsonObject = {};

/** Anything else in its place keeps it. */
function elementsOf(output: unknown): readonly JsonObject[] {
  return Array.isArray(output) ? output.map((item: unknown) => (isObject(item) ? item : NO_ITEM)) : [];
}

/** Clients know the items of a stream by the names with which they began. */
function outputEdits(
  output: readonly JsonObject[],
  complete: (item: JsonObject, position: number) => MemberEdits | null,
): MemberEdits | null {
  const edits = output.map((item, at) => (item === NO_ITEM ? null : complete(item, at)));
  return edits.every((edit) => edit === null) ? null : { output: withinElements(edits) };
}

function edited(item: JsonObject, edits: MemberEdits | null): JsonObject {
  if (edits === null) return item;
  return parseObject(editMembers(Buffer.from(encodeForeign(item)), edits).toString("utf8")) ?? item;
}

/** Of an item that ends, for clients that read the pieces alone. @param item as they get it. */
function piecesBefore(begun: ResponseItem, item: JsonObject): readonly JsonObject[] {
  if (begun.hasContent) return [];
  const pieces = piecesOf(item, begun.position);
  return begun.isShown ? pieces.slice(1) : pieces;
}

interface TextOf extends Omit<EventOf, "piece"> {
  /** The members that tell its place. */
  location: JsonObject;
  heard: Set<number>;
  position: number;
}

/** Of a text that ends, and of which nothing came before. */
function deltasBefore(json: JsonObject, { type, name, location, heard, position }: TextOf): readonly JsonObject[] {
  const member = TEXT_MEMBERS.get(name);
  if (member === undefined || heard.has(position)) return [];
  heard.add(position);
  const text = json[member];
  if (!type.endsWith(".done") || typeof text !== "string" || text === "") return [];
  return [{ type: `response.${name}.delta`, ...location, delta: text, ...(name === "output_text" && { logprobs: [] }) }];
}

function hasText(part: unknown): boolean {
  return isObject(part) && [part["text"], part["refusal"]].some((text) => typeof text === "string" && text !== "");
}

/** Its client has to add pieces to it: some servers begin an item with all that it holds. */
function isEmpty(item: JsonObject): boolean {
  return ["content", "summary", "arguments", "input"].every((name) => {
    const value = item[name] ?? "";
    return value === "" || (Array.isArray(value) && value.length === 0);
  });
}

interface ItemEnd {
  /** A server could repeat a short event, and all that an item has with it. */
  isFirst: boolean;
  /** Its response ends with it, before the model had completed it. */
  isCut?: boolean;
}

interface EventOf {
  type: string;
  /** What it is about. */
  name: string;
  piece: Piece;
}

interface PieceOf extends EventOf {
  /** As its server gave it. */
  index: unknown;
}

interface PartOf extends Omit<EventOf, "piece"> {
  list: "content" | "summary";
  part: JsonObject;
  item: ResponseItem;
  /** Of the event, as far as its item determines them. */
  values: JsonObject;
  missing: readonly JsonObject[];
}

function changed(
  values: JsonObject,
  inside: CompletedEvent["inside"] = {},
  missing: readonly JsonObject[] = [],
): CompletedEvent | null {
  const isSame = missing.length === 0 && Object.keys(values).length === 0 && Object.keys(inside).length === 0;
  return isSame ? null : { values, inside, missing };
}

/** SDKs for Python read log probabilities of every piece of text. */
function isTextWithoutLogprobs({ logprobs }: JsonObject, type: string): boolean {
  return logprobs === undefined && (type === "response.output_text.delta" || type === "response.output_text.done");
}

/** vLLM has an event of its own for parts of reasoning, and gives them the type of text. */
function isOtherReasoning({ part }: JsonObject, type: string, { kind }: ResponseItem): boolean {
  return kind === "reasoning" && isPart(type) && isObject(part) && partType(part) === "output_text";
}

function partEdits(json: JsonObject, type: string, item: ResponseItem): CompletedEvent["inside"] {
  const { part } = json;
  if (!isPart(type) || !isObject(part)) return {};
  const edits = mergeEdits(completePartText(part), isOtherReasoning(json, type, item) ? REASONING_TEXT : null);
  return edits === null ? {} : { part: edits };
}

/** The end of a text, or of a part, that lacks its text: the client has it. */
function isEndWithoutText(json: JsonObject, { type, name, piece }: EventOf): boolean {
  if (!type.endsWith(".done") || CALLS.has(piece.kind)) return false;
  const { part } = json;
  if (isPart(type)) return isObject(part) && lacksText(part);
  const member = TEXT_MEMBERS.get(name);
  return member !== undefined && !isGiven(json[member]);
}

const REASONING_TEXT: MemberEdits = { type: write("reasoning_text") };

function isPart(type: string): boolean {
  return /_part\.(?:added|done)$/.test(type);
}

function added({ position, id }: ResponseItem, item: JsonObject): JsonObject {
  return { type: "response.output_item.added", output_index: position, item: { ...item, id } };
}

function beginParts(parts: ItemParts, list: unknown): void {
  // A text becomes the only part.
  const all: readonly unknown[] = Array.isArray(list) ? list : [list].filter((text) => typeof text === "string" && text !== "");
  for (const index of all.keys()) parts.begin(index);
}

function numbered(name: string, given: unknown, position: number): JsonObject {
  return given === position ? {} : { [name]: position };
}
