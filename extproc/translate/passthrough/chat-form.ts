import { checkBlocks } from "../../protocol/answer-bounds.ts";
import type { AnswerHead, FinishReason } from "../../protocol/chat/encode.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, remove, within, withinElements, withinObject, write, type MemberEdits } from "../../protocol/json/splice.ts";
import { isFinished } from "../chat/chunk-text.ts";
import { isCutOff } from "../conversation/server-reasons.ts";
import { objectsIn } from "../readable-output.ts";
import { createCallPieces, createWholeCalls, textArguments, type CallForm, type CallPieces } from "./call-form.ts";
import { joinParts } from "./content-parts.ts";

/**
 * Members that clients' libraries require and some servers leave out, or write in another form: a stream helper throws at a choice
 * without an index, and the answer is lost and paid for. What is read here has been parsed for the meter.
 */
export interface ChunkForm {
  /** Null for a chunk that has all. @param head for what is missing. */
  complete(json: JsonObject, head: AnswerHead): { members: MemberEdits; isSingular: boolean } | null;
  /** The calls without arguments of the answers that have ended since, by index: clients parse them. */
  withoutArguments(): ReadonlyMap<number, readonly number[]>;
  /** Did the latest chunk give a role that later ones must not give? */
  gaveRole(): boolean;
  /** The answers to whose end the server gave no reason, by index, and the reason that their content shows. */
  unended(): ReadonlyMap<number, FinishReason>;
}

interface Choice {
  /** A piece had the role. */
  hasRole: boolean;
  calls: CallPieces;
  isFinished: boolean;
  /** What ends it, unless the server says something else. */
  reason: FinishReason;
}

export function createChunkForm(requestId: string): ChunkForm {
  const choices = new Map<number, Choice>();
  /** Answers that are whole. */
  const ended = new Set<number>();
  let isSingular = false;
  let gaveRole = false;

  function choiceAt(index: number): Choice {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const choice: Choice = { hasRole: false, calls: createCallPieces(requestId), isFinished: false, reason: "stop" };
    choices.set(index, choice);
    checkBlocks(choices.size);
    return choice;
  }

  function completeChoice(choice: JsonObject, position: number): MemberEdits | null {
    const index = isCount(choice["index"]) ? choice["index"] : position;
    const edits = mergeEdits(
      index === choice["index"] ? null : { index: write(index) },
      // SDKs for Java take an empty reason for the end.
      choice["finish_reason"] === "" ? { finish_reason: write(null) } : null,
    );
    const { delta } = choice;
    const known = choiceAt(index);
    const isEnd = !known.isFinished && isFinished(choice);
    const isWhole = isEnd && !isCutOff(choice["finish_reason"]) && hasWholeCalls(delta);
    known.isFinished ||= isEnd;
    if (isWhole) ended.add(index);
    if (isObject(delta)) {
      known.reason = reasonShown(delta, known.reason);
      const inside = completeDelta(delta, known, isWhole);
      return inside === null ? edits : { ...edits, delta: within(inside) };
    }
    return delta === undefined || delta === null ? { ...edits, delta: withinObject({}) } : edits;
  }

  function completeDelta(delta: JsonObject, choice: Choice, isWhole: boolean): MemberEdits | null {
    const edits = mergeEdits(completeRole(delta["role"], choice), joinParts(delta));
    return mergeEdits(edits, completeCalls(delta, choice.calls, isWhole));
  }

  /**
   * Only the first piece needs one. Ollama and OpenRouter repeat it with every piece, and OpenAI's SDK for Python joins the pieces
   * of any text: "assistantassistant".
   */
  function completeRole(role: unknown, choice: Choice): MemberEdits | null {
    if (choice.hasRole) return typeof role === "string" ? { role: remove } : null;
    choice.hasRole = true;
    if (typeof role === "string" && role !== "") {
      gaveRole = true;
      return null;
    }
    isSingular = true;
    return { role: write("assistant") };
  }

  return {
    gaveRole: () => gaveRole,
    unended() {
      const open = [...choices].filter(([, { isFinished }]) => !isFinished);
      for (const [index] of open) ended.add(index);
      return new Map(open.map(([index, { reason }]) => [index, reason]));
    },
    withoutArguments() {
      if (ended.size === 0) return NONE;
      const positions = new Map([...ended].map((index) => [index, choiceAt(index).calls.withoutArguments()]));
      ended.clear();
      return positions;
    },
    complete(json, head) {
      isSingular = false;
      gaveRole = false;
      const members = mergeEdits(completeHead(json, "chat.completion.chunk", head), completeList(json["choices"]));
      return members === null ? null : { members, isSingular };
    },
  };

  function completeList(list: unknown): MemberEdits | null {
    return Array.isArray(list) ? editsOf("choices", completeElements(list, completeChoice)) : { choices: write([]) };
  }
}

const NONE: ReadonlyMap<number, readonly number[]> = new Map();

/** The same of a complete answer. */
export function completeCompletion(json: JsonObject, head: AnswerHead, requestId: string): MemberEdits | null {
  const { choices } = json;
  const list = Array.isArray(choices) ? completeElements(choices, completeChoice) : null;
  return mergeEdits(completeHead(json, "chat.completion", head), editsOf("choices", list));

  function completeChoice(choice: JsonObject, position: number): MemberEdits | null {
    const { index, message } = choice;
    const edits = mergeEdits(
      isCount(index) ? null : { index: write(position) },
      isFinished(choice) ? null : { finish_reason: write(reasonShown(isObject(message) ? message : {}, "stop")) },
    );
    if (!isObject(message)) return edits;
    const { role } = message;
    const roleEdits = typeof role === "string" && role !== "" ? null : { role: write("assistant") };
    const isWhole = !isCutOff(choice["finish_reason"]);
    const calls = completeCalls(message, createWholeCalls(requestId), isWhole);
    const inside = mergeEdits(mergeEdits(roleEdits, joinParts(message)), calls);
    return inside === null ? edits : { ...edits, message: within(inside) };
  }
}

/** Clients run tools for the reason that says so. */
function reasonShown({ tool_calls: calls, function_call: legacy }: JsonObject, before: FinishReason): FinishReason {
  if (Array.isArray(calls) && calls.length > 0) return "tool_calls";
  return isObject(legacy) ? "function_call" : before;
}

/** Not pieces of one call beside each other. */
function hasWholeCalls(delta: unknown): boolean {
  const list: unknown = isObject(delta) ? delta["tool_calls"] : null;
  if (!Array.isArray(list) || list.length < 2) return true;
  const calls = objectsIn(list);
  const indices = new Set(calls.map(({ index }) => index).filter(isCount));
  return indices.size === list.length || calls.every(({ function: described }) => isObject(described) && described["name"]);
}

/** @param isEnd no more of them follows. */
function completeCalls(message: JsonObject, calls: CallForm, isEnd: boolean): MemberEdits | null {
  const { tool_calls: list, function_call: legacy } = message;
  const listed = Array.isArray(list) ? completeElements(list, (call) => calls.complete(call, isEnd)) : null;
  const text = textArguments(legacy);
  return mergeEdits(editsOf("tool_calls", listed), text === null ? null : { function_call: within(text) });
}

/** @returns null if no element changes. */
function completeElements(
  list: readonly unknown[],
  complete: (element: JsonObject, position: number) => MemberEdits | null,
): (MemberEdits | null)[] | null {
  let edits: (MemberEdits | null)[] | null = null;
  // An iterator over entries would allocate for each chunk.
  for (let position = 0; position < list.length; position += 1) {
    const element = list[position];
    const edit = isObject(element) ? complete(element, position) : null;
    if (edit === null) continue;
    edits ??= Array.from(list, () => null);
    edits[position] = edit;
  }
  return edits;
}

function editsOf(name: string, elements: (MemberEdits | null)[] | null): MemberEdits | null {
  return elements === null ? null : { [name]: withinElements(elements) };
}

function completeHead(json: JsonObject, object: string, head: AnswerHead): MemberEdits | null {
  const { id, object: written, model, created } = json;
  const isCreated = typeof created === "number" && Number.isInteger(created);
  if (isGiven(id) && written === object && isGiven(model) && isCreated) return null;
  return {
    ...(!isGiven(id) && { id: write(head.id) }),
    ...(written !== object && { object: write(object) }),
    ...(!isGiven(model) && { model: write(head.model) }),
    ...(!isCreated && { created: write(typeof created === "number" ? Math.floor(created) : head.created) }),
  };
}
