import { checkBlocks } from "../../protocol/answer-bounds.ts";
import type { AnswerHead, Delta, FinishReason } from "../../protocol/chat/encode.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeForeign } from "../../protocol/json/raw.ts";
import {
  editMembers,
  mergeEdits,
  remove,
  within,
  withinElements,
  withinObject,
  write,
  type MemberEdits,
} from "../../protocol/json/splice.ts";
import { isFinished } from "../chat/chunk-text.ts";
import { isCutOff } from "../conversation/server-reasons.ts";
import { objectsIn } from "../readable-output.ts";
import {
  createCallPieces,
  createWholeCalls,
  endedArguments,
  textArguments,
  type CallForm,
  type CallPieces,
} from "./call-form.ts";
import { joinParts } from "./content-parts.ts";
import { completeReason, reasonShown } from "./finish-reason.ts";
import { createLegacyPieces, type LegacyPieces } from "./legacy-call.ts";

/**
 * Members that clients' libraries require and some servers leave out, or write in another form: a stream helper throws at a choice
 * without an index, and the answer is lost and paid for. What is read here has been parsed for the meter.
 */
export interface ChunkForm {
  /** Null for a chunk that has all. @param head for what is missing. */
  complete(json: JsonObject, head: AnswerHead): { members: MemberEdits; isSingular: boolean } | null;
  /** What the calls without arguments lack, of the answers that have ended since, by index: clients parse them. */
  withoutArguments(): ReadonlyMap<number, readonly Delta[]>;
  /** Did the latest chunk give a role that later ones must not give? */
  gaveRole(): boolean;
  /** The answers to whose end the server gave no reason, by index, and the reason that their content shows. */
  unended(): ReadonlyMap<number, FinishReason>;
}

interface Choice {
  /** A piece had the role. */
  hasRole: boolean;
  calls: CallPieces;
  legacy: LegacyPieces;
  hasContent: boolean;
  isFinished: boolean;
  /** What ends it, unless the server says something else. */
  reason: FinishReason;
}

/** @param answers that the client requested: the index of the only one is 0. */
export function createChunkForm(requestId: string, answers: number): ChunkForm {
  const choices = new Map<number, Choice>();
  /** Answers that are whole. */
  const ended = new Set<number>();
  let isSingular = false;
  let gaveRole = false;
  let firstIndex: number | undefined;

  /** Some servers number from 1. */
  function indexOf({ index: written }: JsonObject, position: number): number {
    const index = isCount(written) ? written : position;
    firstIndex ??= index;
    if (answers > 1 || firstIndex === 0) return index;
    if (index === firstIndex) return 0;
    return index === 0 ? firstIndex : index;
  }

  function choiceAt(index: number): Choice {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const choice: Choice = {
      hasRole: false,
      calls: createCallPieces(requestId),
      legacy: createLegacyPieces(),
      hasContent: false,
      isFinished: false,
      reason: "stop",
    };
    choices.set(index, choice);
    checkBlocks(choices.size);
    return choice;
  }

  function completeChoice(choice: JsonObject, position: number): MemberEdits | null {
    const index = indexOf(choice, position);
    const edits = mergeEdits(
      index === choice["index"] ? null : { index: write(index) },
      // SDKs for Java take an empty reason for the end.
      choice["finish_reason"] === "" ? { finish_reason: write(null) } : null,
    );
    const known = choiceAt(index);
    const isEnd = !known.isFinished && isFinished(choice);
    const isWhole = isEnd && !isCutOff(choice["finish_reason"]);
    known.isFinished ||= isEnd;
    if (isWhole) ended.add(index);
    const content = completeContent(choice, known, isWhole);
    return mergeEdits(mergeEdits(edits, completeReason(choice, known.reason)), content);
  }

  function completeContent({ delta, message }: JsonObject, known: Choice, isWhole: boolean): MemberEdits | null {
    if (isObject(delta)) {
      known.reason = reasonShown(delta, known.reason);
      known.hasContent ||= hasOutput(delta);
      const inside = completeDelta(delta, known, isWhole);
      return inside === null ? null : { delta: within(inside) };
    }
    if ((delta ?? null) !== null) return null;
    // MiniMax repeats the message of the deltas; other servers send one that none came before.
    if (known.hasContent || !isObject(message)) return { delta: withinObject({}) };
    isSingular = true;
    known.hasContent = true;
    known.reason = reasonShown(message, known.reason);
    const inside = completeDelta(message, known, isWhole) ?? {};
    const written = Buffer.from(encodeForeign(message));
    return { delta: () => editMembers(written, inside), message: remove };
  }

  function completeDelta(delta: JsonObject, choice: Choice, isWhole: boolean): MemberEdits | null {
    const edits = mergeEdits(completeRole(delta["role"], choice), joinParts(delta));
    return mergeEdits(edits, completePieces(delta, choice, isWhole));
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
      const deltas = new Map([...ended].map((index) => [index, argumentsOf(choiceAt(index))]));
      ended.clear();
      return deltas;
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

const NONE: ReadonlyMap<number, readonly Delta[]> = new Map();

/** Of its calls that have none. */
function argumentsOf({ calls, legacy }: Choice): readonly Delta[] {
  const deltas = calls.withoutArguments().map((index) => ({ tool_calls: [{ index, function: { arguments: "{}" } }] }));
  return legacy.isWithoutArguments() ? [...deltas, { function_call: { arguments: "{}" } }] : deltas;
}

function hasOutput({ content, tool_calls: calls, function_call: legacy }: JsonObject): boolean {
  return (isGiven(content) && content !== "") || isGiven(calls) || isGiven(legacy);
}

/**
 * The same of a complete answer.
 * @param answers that the client requested.
 */
export function completeCompletion(
  json: JsonObject,
  { head, requestId, answers }: { head: AnswerHead; requestId: string; answers: number },
): MemberEdits | null {
  const { choices } = json;
  const list = Array.isArray(choices) ? completeElements(choices, completeChoice) : null;
  return mergeEdits(completeHead(json, "chat.completion", head), editsOf("choices", list));

  function completeChoice(choice: JsonObject, position: number): MemberEdits | null {
    const { index, message } = choice;
    const shown = reasonShown(isObject(message) ? message : {}, "stop");
    const edits = mergeEdits(
      isCount(index) && (index === position || answers > 1) ? null : { index: write(position) },
      isFinished(choice) ? completeReason(choice, shown) : { finish_reason: write(shown) },
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

/** @param isEnd no more of them follows. */
function completeCalls(message: JsonObject, calls: CallForm, isEnd: boolean): MemberEdits | null {
  const { tool_calls: list, function_call: legacy } = message;
  const listed = Array.isArray(list) ? completeElements(list, (call) => calls.complete(call, isEnd)) : null;
  const text = isEnd ? endedArguments(legacy) : textArguments(legacy);
  return mergeEdits(editsOf("tool_calls", listed), text === null ? null : { function_call: within(text) });
}

/** @param isEnd nothing follows the delta. */
function completePieces(delta: JsonObject, { calls, legacy }: Choice, isEnd: boolean): MemberEdits | null {
  const { tool_calls: list, function_call: call } = delta;
  if (!isGiven(list) && !isGiven(call)) return null;
  const isLast = (at: number) => isEnd && Array.isArray(list) && !continuesIn(list.slice(at + 1), list[at]);
  const listed = Array.isArray(list) ? completeElements(list, (piece, at) => calls.complete(piece, isLast(at))) : null;
  const text = isObject(call) ? legacy.complete(call, isEnd) : null;
  return mergeEdits(editsOf("tool_calls", listed), text === null ? null : { function_call: within(text) });
}

/** Does a call go on in a later piece of the same delta? By its index or, without one, in the next piece, unless that names a call. */
function continuesIn(later: readonly unknown[], piece: unknown): boolean {
  const index = isObject(piece) ? piece["index"] : undefined;
  if (isCount(index)) return objectsIn(later).some((each) => each["index"] === index && !isNamed(each));
  const [next] = later;
  return isObject(next) && !isNamed(next);
}

function isNamed({ function: described }: JsonObject): boolean {
  return isObject(described) && isGiven(described["name"]) && described["name"] !== "";
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
