import { checkBlocks } from "../../protocol/answer-bounds.ts";
import type { AnswerHead } from "../../protocol/chat/encode.ts";
import { isObject, type JsonObject } from "../../protocol/json/object.ts";
import { remove, within, withinElements, withinObject, write, type MemberEdit } from "../../protocol/json/splice.ts";
import { createCallPieces, createWholeCalls, isIndex, merged, textArguments, type CallForm } from "./call-form.ts";

type Edits = Readonly<Record<string, MemberEdit>>;

/**
 * Members that clients' libraries require and some servers leave out, or write in another form: a stream helper throws at a choice
 * without an index, and the answer is lost and paid for. What is read here has been parsed for the meter.
 */
export interface ChunkForm {
  /** Null for a chunk that has all. @param head for what is missing. */
  complete(json: JsonObject, head: AnswerHead): { members: Edits; isSingular: boolean } | null;
}

interface Choice {
  /** A piece had the role. */
  hasRole: boolean;
  calls: CallForm;
}

export function createChunkForm(requestId: string): ChunkForm {
  const choices = new Map<number, Choice>();
  let isSingular = false;

  function choiceAt(index: number): Choice {
    const known = choices.get(index);
    if (known !== undefined) return known;
    const choice = { hasRole: false, calls: createCallPieces(requestId) };
    choices.set(index, choice);
    checkBlocks(choices.size);
    return choice;
  }

  function completeChoice(choice: JsonObject, position: number): Edits | null {
    const index = isIndex(choice["index"]) ? choice["index"] : position;
    const edits = merged(
      index === choice["index"] ? null : { index: write(index) },
      // SDKs for Java take an empty reason for the end.
      choice["finish_reason"] === "" ? { finish_reason: write(null) } : null,
    );
    const { delta } = choice;
    if (isObject(delta)) {
      const inside = completeDelta(delta, choiceAt(index));
      return inside === null ? edits : { ...edits, delta: within(inside) };
    }
    return delta === undefined || delta === null ? { ...edits, delta: withinObject({}) } : edits;
  }

  function completeDelta(delta: JsonObject, choice: Choice): Edits | null {
    return merged(completeRole(delta["role"], choice), completeCalls(delta, choice.calls));
  }

  /** Only the first piece needs one. */
  function completeRole(role: unknown, choice: Choice): Edits | null {
    if (typeof role === "string" && role !== "") choice.hasRole = true;
    else if (!choice.hasRole) {
      choice.hasRole = true;
      isSingular = true;
      return { role: write("assistant") };
    }
    return role === "" ? { role: remove } : null;
  }

  return {
    complete(json, head) {
      isSingular = false;
      const members = merged(completeHead(json, "chat.completion.chunk", head), completeList(json["choices"]));
      return members === null ? null : { members, isSingular };
    },
  };

  function completeList(list: unknown): Edits | null {
    return Array.isArray(list) ? editsOf("choices", completeElements(list, completeChoice)) : { choices: write([]) };
  }
}

/** The same of a complete answer. */
export function completeCompletion(json: JsonObject, head: AnswerHead, requestId: string): Edits | null {
  const { choices } = json;
  const list = Array.isArray(choices) ? completeElements(choices, completeChoice) : null;
  return merged(completeHead(json, "chat.completion", head), editsOf("choices", list));

  function completeChoice(choice: JsonObject, position: number): Edits | null {
    const { index, message } = choice;
    const edits = isIndex(index) ? null : { index: write(position) };
    if (!isObject(message)) return edits;
    const { role } = message;
    const roleEdits = typeof role === "string" && role !== "" ? null : { role: write("assistant") };
    const inside = merged(roleEdits, completeCalls(message, createWholeCalls(requestId)));
    return inside === null ? edits : { ...edits, message: within(inside) };
  }
}

function completeCalls(message: JsonObject, calls: CallForm): Edits | null {
  const { tool_calls: list, function_call: legacy } = message;
  const listed = Array.isArray(list) ? completeElements(list, calls.complete) : null;
  const text = textArguments(legacy);
  return merged(editsOf("tool_calls", listed), text === null ? null : { function_call: within(text) });
}

/** @returns null if no element changes. */
function completeElements(
  list: readonly unknown[],
  complete: (element: JsonObject, position: number) => Edits | null,
): (Edits | null)[] | null {
  let edits: (Edits | null)[] | null = null;
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

function editsOf(name: string, elements: (Edits | null)[] | null): Edits | null {
  return elements === null ? null : { [name]: withinElements(elements) };
}

function completeHead(json: JsonObject, object: string, head: AnswerHead): Edits | null {
  const { id, object: written, model, created } = json;
  const isCreated = typeof created === "number" && Number.isInteger(created);
  if (isWritten(id) && written === object && isWritten(model) && isCreated) return null;
  return {
    ...(!isWritten(id) && { id: write(head.id) }),
    ...(written !== object && { object: write(object) }),
    ...(!isWritten(model) && { model: write(head.model) }),
    ...(!isCreated && { created: write(typeof created === "number" ? Math.floor(created) : head.created) }),
  };
}

function isWritten(value: unknown): boolean {
  return value !== undefined && value !== null;
}
