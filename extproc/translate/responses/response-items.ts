import { checkBlocks, MAX_BLOCKS } from "../../protocol/answer-bounds.ts";
import { textOf, type JsonObject } from "../../protocol/json/object.ts";
import { createCallIds } from "../conversation/call-ids.ts";
import { mintItemId } from "../conversation/ids.ts";
import { callIdOf, namesOf } from "./item-names.ts";

/** What all events call an item. */
export interface ItemNames {
  readonly id: string;
  /** Of a call, by which its result names it; null for another item. */
  readonly callId: string | null;
}

/** An item of a response as its client knows it: with a position and names of its own. */
export interface ResponseItem extends ItemNames {
  /** What its server calls it. */
  readonly given: readonly string[];
  readonly position: number;
  readonly kind: unknown;
  readonly content: ItemParts;
  readonly summary: ItemParts;
  isDone: boolean;
  /** The client knows of it. */
  isShown: boolean;
  /** The client has some of its content. */
  hasContent: boolean;
  /** Of a call: the client has some of its text. */
  hasPieces: boolean;
  /** Of a call: the client knows that its text has ended. */
  isTextDone: boolean;
}

/** The parts of an item, numbered from 0: vLLM counts on from item to item. */
export interface ItemParts {
  /** @param index the server's own number; null if it gives none. */
  begin(index: number | null): number;
  find(index: number | null): number | undefined;
  /** By the client's positions, those whose text the client has. */
  readonly heard: Set<number>;
}

/**
 * The items of one response. Servers leave out their positions (llama.cpp), give one to several items (LiteLLM), and name them
 * differently in the events of their pieces.
 */
export interface ResponseItems {
  /** @returns null for an item that has begun before. */
  begin(index: number | null, item: JsonObject): ResponseItem | null;
  /** The item that an event belongs to. @param names it may be known by. @param kind of the item; null if the event tells none. */
  find(event: { index: number | null; names: readonly string[]; kind: unknown }): ResponseItem | undefined;
  /** Of an item that has not begun. */
  nameOf(item: JsonObject, position: number): ItemNames;
  /** The items of the whole output that have begun, in its order. */
  match(output: readonly JsonObject[]): (ResponseItem | undefined)[];
  /** Those that have begun and are not among these. */
  others(matched: readonly (ResponseItem | undefined)[]): readonly ResponseItem[];
  /** Those that have not ended. */
  open(): readonly ResponseItem[];
  /** Where a piece of an unknown item belongs. */
  latest(): number;
}

export function createResponseItems(requestId: string): ResponseItems {
  /** In the order in which they began: some servers give one name to several calls. */
  const byName = new Map<string, ResponseItem[]>();
  const byNames = new Map<string, ResponseItem[]>();
  const ids = new Set<string>();
  const callIds = createCallIds(requestId);
  /** By the server's own positions, the latest of each. */
  const byIndex = new Map<number, ResponseItem>();
  const taken = new Set<number>();
  /** In the order in which they began. */
  const byKind = new Map<unknown, ResponseItem[]>();
  let open: ResponseItem[] = [];
  let latest: ResponseItem | undefined;
  let count = 0;
  let next = 0;

  function begin(index: number | null, item: JsonObject): ResponseItem | null {
    const names = namesOf(item);
    const id = item["id"];
    const known = typeof id === "string" ? byName.get(id)?.at(-1) : undefined;
    const isSame = known !== undefined && known.given[0] === id && (index === null || byIndex.get(index) === known);
    if (isSame && !isOtherCall(item, known)) return null;
    count += 1;
    checkBlocks(count);
    // Far beyond all items of an answer, numbers are no longer exact: several items would get one position.
    const position = index === null || index >= MAX_BLOCKS || taken.has(index) ? next : index;
    const [name = ""] = names;
    const ownId = name === "" || ids.has(name) ? mintItemId({ requestId, position }) : name;
    ids.add(ownId);
    const callId = callIdOf(item, ownId);
    const begun = {
      position,
      id: ownId,
      callId: callId === null ? null : callIds(callId, position),
      given: names,
      kind: item["type"],
      isDone: false,
      isShown: false,
      hasContent: false,
      hasPieces: false,
      isTextDone: false,
      ...partsOf(),
    };
    taken.add(position);
    next = Math.max(next, position + 1);
    if (index !== null) byIndex.set(index, begun);
    for (const given of names) listAt(byName, given).push(begun);
    listAt(byNames, keyOf(begun.kind, names)).push(begun);
    listAt(byKind, begun.kind).push(begun);
    open.push(begun);
    latest = begun;
    return begun;
  }

  /** The latest of a name, unless the position tells another one of that name. */
  function named(names: readonly string[], index: number | null): ResponseItem | undefined {
    const there = index === null ? undefined : byIndex.get(index);
    if (there !== undefined && names.some((name) => there.given.includes(name))) return there;
    for (const name of names) {
      const item = byName.get(name)?.at(-1);
      if (item !== undefined) return item;
    }
    return undefined;
  }

  /**
   * By name, or as the next of its kind: LiteLLM gives an item another id at the end. A server may repeat short events with a response
   * without end: each takes time by what it has itself, not by what came before.
   */
  function match(output: readonly JsonObject[]): (ResponseItem | undefined)[] {
    const isMatched = new Set<ResponseItem>();
    const ofNames = createTurns(byNames, isMatched);
    const ofName = createTurns(byName, isMatched);
    const ofKind = createTurns(byKind, isMatched);

    function firstOf(names: readonly string[]): ResponseItem | undefined {
      for (const name of names) {
        const found = ofName(name);
        if (found !== undefined) return found;
      }
      return undefined;
    }
    // Those with all of its names first: calls may share an id or a `call_id`, and a call its `call_id` with its result.
    const exact = output.map((item) => {
      const names = namesOf(item);
      return names.length === 0 ? undefined : ofNames(keyOf(item["type"], names));
    });
    const named = output.map((item, at) => exact[at] ?? firstOf(namesOf(item).toReversed()));
    return output.map((item, at) => named[at] ?? ofKind(item["type"]));
  }

  return {
    begin,
    find({ index, names, kind }) {
      const known = named(names, index);
      if (known !== undefined) return known;
      const candidate = index === null ? latest : byIndex.get(index);
      if (candidate === undefined || (kind !== null && candidate.kind !== kind)) return undefined;
      // An item that has ended has no pieces under another name.
      return candidate.isDone && names.length > 0 ? undefined : candidate;
    },
    match,
    others(matched) {
      const isMatched = new Set(matched);
      return [...byKind.values()].flat().filter((item) => !isMatched.has(item));
    },
    nameOf(item, position) {
      const id = textOf(item["id"]) || (namesOf(item)[0] ?? mintItemId({ requestId, position }));
      return { id, callId: callIdOf(item, id) };
    },
    open: () => (open = open.filter(({ isDone }) => !isDone)),
    latest: () => latest?.position ?? 0,
  };
}

/** Some servers give all calls of a response one id and one position. */
function isOtherCall(item: JsonObject, { isDone, given }: ResponseItem): boolean {
  const callId = textOf(item["call_id"]);
  return isDone && callId !== "" && given.length > 1 && !given.includes(callId);
}

/** The items of one key, each once: every call takes the next that is not matched, and matches it. */
function createTurns<Key>(lists: ReadonlyMap<Key, ResponseItem[]>, isMatched: Set<ResponseItem>) {
  const turns = new Map<Key, Iterator<ResponseItem>>();
  return (key: Key): ResponseItem | undefined => {
    const list = turns.get(key) ?? (lists.get(key) ?? []).values();
    turns.set(key, list);
    for (let each = list.next(); each.done !== true; each = list.next()) {
      if (isMatched.has(each.value)) continue;
      isMatched.add(each.value);
      return each.value;
    }
    return undefined;
  };
}

function keyOf(kind: unknown, names: readonly string[]): string {
  return JSON.stringify([kind, ...names]);
}

function listAt<Key>(lists: Map<Key, ResponseItem[]>, key: Key): ResponseItem[] {
  const list = lists.get(key) ?? [];
  lists.set(key, list);
  return list;
}

function partsOf(): Pick<ResponseItem, "content" | "summary"> {
  return { content: createItemParts(), summary: createItemParts() };
}

function createItemParts(): ItemParts {
  const positions = new Map<number | null, number>();
  let count = 0;
  return {
    begin(index) {
      const position = count;
      count += 1;
      checkBlocks(count);
      positions.set(index, position);
      return position;
    },
    find: (index) => (index === null && count > 0 ? count - 1 : positions.get(index)),
    heard: new Set(),
  };
}
