import { checkCalls } from "../../protocol/answer-bounds.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isObject, textOf, type JsonObject } from "../../protocol/json/object.ts";
import { mergeEdits, remove, withinObject, write, type MemberEdits } from "../../protocol/json/splice.ts";
import { createCallIds } from "../conversation/call-ids.ts";
import { createObjectScan, type ObjectScan } from "../conversation/object-scan.ts";

/** Completes the tool calls of one chat answer. */
export interface CallForm {
  /**
   * @param isEnd no more of the call follows, and it is complete.
   * @returns null for a call, or a piece of one, that has what clients require.
   */
  complete(call: JsonObject, isEnd: boolean): MemberEdits | null;
}

/** The same of a stream. */
export interface CallPieces extends CallForm {
  /** The calls that have no arguments, by index, once: clients parse them. */
  withoutArguments(): readonly number[];
}

interface Call {
  position: number;
  id: string;
  name: string;
  /** Of arguments whose end tells where the next call begins; null if an id does. */
  scan: ObjectScan | null;
}

/**
 * Clients join the pieces of a call by `index`, and expect an id and a type with the first piece. Pieces belong together as
 * in answer-blocks.ts: by index, else by id, else to the latest call; another id together with a name starts another call.
 */
export function createCallPieces(requestId: string): CallPieces {
  /** Those without arguments so far. */
  const empty = new Set<Call>();
  const byIndex = new Map<number, Call>();
  const byId = new Map<string, Call>();
  const callId = createCallIds(requestId);
  let latest: Call | undefined;
  let count = 0;

  function find(index: number | null, id: string, isNamed: boolean): Call | undefined {
    const known = index === null ? findUnnumbered(id, isNamed) : byIndex.get(index);
    if (known === undefined || !isNamed) return known;
    const isOther = id === "" ? known.scan?.isClosed() === true : known.id !== "" && known.id !== id;
    return isOther ? undefined : known;
  }

  /** An id may come with a later piece. */
  function findUnnumbered(id: string, isNamed: boolean): Call | undefined {
    if (id === "") return latest;
    return byId.get(id) ?? (latest?.id === "" && !isNamed ? latest : undefined);
  }

  function start(index: number | null, id: string, name: string): Call {
    const call = { position: count, id, name, scan: id === "" ? createObjectScan() : null };
    count += 1;
    checkCalls(count);
    latest = call;
    if (index !== null) byIndex.set(index, call);
    if (id !== "") byId.set(id, call);
    return call;
  }

  function note(call: Call, id: string): void {
    call.id = id;
    byId.set(id, call);
  }

  return {
    complete(piece, isEnd) {
      const { index: written, function: described } = piece;
      const index = isCount(written) ? written : null;
      const id = textOf(piece["id"]);
      const name = isObject(described) ? textOf(described["name"]) : "";
      const known = find(index, id, name !== "");
      const call = known ?? start(index, id, name);
      if (isObject(described)) call.scan?.take(textOf(described["arguments"]));
      if (known === undefined && !isObject(piece["custom"])) empty.add(call);
      if (call.id === "" && id !== "") note(call, id);
      const wasEmpty = empty.has(call);
      if (hasArguments(described) || isEnd) empty.delete(call);
      const isUnchanged = call.position === written;
      return mergeEdits(
        isUnchanged ? null : { index: write(call.position) },
        known === undefined ? begun(piece, call, isEnd) : later(piece, call, isEnd && wasEmpty),
      );
    },
    withoutArguments() {
      const positions = [...empty].map(({ position }) => position);
      empty.clear();
      return positions;
    },
  };

  function begun(piece: JsonObject, { id: given, position }: Call, isEnd: boolean): MemberEdits | null {
    const id = callId(given, position);
    return mergeEdits(id === given ? null : { id: write(id) }, completeCall(piece, isEnd));
  }
}

/** The calls of a complete answer. */
export function createWholeCalls(requestId: string): CallForm {
  const callId = createCallIds(requestId);
  let count = 0;
  return {
    complete(call, isEnd) {
      const given = textOf(call["id"]);
      const id = callId(given, count);
      count += 1;
      return mergeEdits(id === given ? null : { id: write(id) }, completeCall(call, isEnd));
    },
  };
}

/** Ollama and others send the arguments as an object. */
export function textArguments(described: unknown): MemberEdits | null {
  return isObject(described) && isObject(described["arguments"]) ? ARGUMENTS_AS_TEXT : null;
}

const ARGUMENTS_AS_TEXT: MemberEdits = {
  arguments: (written) => written && Buffer.from(JSON.stringify(written.toString("utf8"))),
};

/** Of a call that has ended: clients parse them. */
export function endedArguments(described: unknown): MemberEdits | null {
  return isObject(described) && !hasArguments(described) ? NO_ARGUMENTS : textArguments(described);
}

export const NO_ARGUMENTS: MemberEdits = { arguments: write("{}") };

export function hasArguments(described: unknown): boolean {
  if (!isObject(described)) return false;
  const written = described["arguments"] ?? "";
  return typeof written !== "string" || written.trim() !== "";
}

function completeCall({ type, function: described, custom }: JsonObject, isEnd: boolean): MemberEdits | null {
  if (isObject(custom)) return null;
  const isTyped = typeof type === "string" && type !== "";
  // OpenAI's SDK for JavaScript throws at a call that begins without a function.
  const isNew = !isObject(described);
  const text = isEnd ? endedArguments(isNew ? {} : described) : textArguments(described);
  return mergeEdits(
    isTyped ? null : { type: write("function") },
    text === null && !isNew ? null : { function: withinObject(text ?? EMPTY_ARGUMENTS) },
  );
}

const EMPTY_ARGUMENTS: MemberEdits = { arguments: write("") };

/**
 * SDKs for Python reject a type that is null, and join ids and names as they join arguments: some servers (NVIDIA NIM, Fireworks)
 * repeat them with every piece, or give each another id. To LangChain, pieces with different ids belong to different calls.
 * @param isEmpty it is the last of a call that has no arguments.
 */
function later({ type, id, function: described }: JsonObject, call: Call, isEmpty: boolean): MemberEdits | null {
  const repeatsName = isObject(described) && call.name !== "" && described["name"] === call.name;
  const text = isEmpty ? endedArguments(described ?? {}) : textArguments(described);
  const edits = mergeEdits(text, repeatsName ? { name: remove } : null);
  return mergeEdits(
    mergeEdits(type === null ? { type: remove } : null, typeof id === "string" ? { id: remove } : null),
    edits === null ? null : { function: withinObject(edits) },
  );
}
