import { GatewayError } from "../../../contract/errors.ts";
import { checkCalls, MAX_BLOCKS, MAX_KEPT_CHARACTERS } from "../../protocol/answer-bounds.ts";
import { callWithoutName } from "../../protocol/broken-answer.ts";
import type { Annotation } from "../../protocol/chat/annotation.ts";
import type { AnswerPart, ToolPart } from "../../protocol/chat/answer-part.ts";
import type { AnswerEvent, Citation, GrowthEvent, OpenedBlock } from "../conversation/answer-event.ts";
import type { ToolNames } from "../conversation/names.ts";
import { sealCallSignature } from "../conversation/sealed-reasoning.ts";
import { createToolArguments, type ToolArguments } from "./tool-arguments.ts";
import type { ToolCallIds } from "../conversation/tool-call-ids.ts";

export interface AnswerBlocksDeps {
  names: ToolNames;
  ids: ToolCallIds;
  /** The Model's own name. */
  thinker: string;
  /** Profile flag: every chunk repeats the complete tool arguments. */
  hasArgumentSnapshots: boolean;
}

/** Turns the pieces of a chat answer into content blocks, one after the other. */
export interface AnswerBlocks {
  push(part: AnswerPart): AnswerEvent[];
  /**
   * Writes queued pieces and closes open blocks.
   * @param isCut the server stopped before the answer was complete: a call may have no name yet, and is left out.
   * @throws GatewayError `upstream_error` for a call that should have had one.
   */
  end(options: { isCut: boolean }): AnswerEvent[];
}

type Segment = TextSegment | { kind: "refusal"; pending: string } | ThinkingSegment | ToolSegment;

interface TextSegment {
  kind: "text";
  pending: string;
  /** Characters of the message's content before it. */
  start: number;
  citations: Citation[];
}

interface ThinkingSegment {
  kind: "thinking";
  pending: string;
  /** Of the call after it, sealed; null if it has none. */
  signature: string | null;
}

interface Call {
  /** Its number in the answer, from 1. */
  order: number;
  index: number | null;
  upstreamId: string;
  name: string;
  arguments: ToolArguments;
  /** Its queued arguments; null once its block is closed. */
  segment: ToolSegment | null;
}

interface ToolSegment {
  kind: "tool";
  pending: string;
  call: Call;
}

/**
 * Messages allows one open block at a time; chat interleaves parallel tool calls. So the answer is a queue: its head streams as
 * it arrives, the rest waits until the head is complete. Text is complete when something else follows; a tool call when its
 * arguments are a whole object, because until then more of them may arrive.
 */
export function createAnswerBlocks({ names, ids, thinker, hasArgumentSnapshots }: AnswerBlocksDeps): AnswerBlocks {
  const queue: Segment[] = [];
  /** The latest of each index, and of each id. */
  const callsByIndex = new Map<number, Call>();
  const callsById = new Map<string, Call>();
  let latestCall: Call | undefined;
  /** The latest queued one. */
  let text: TextSegment | undefined;
  /** Servers repeat annotations from chunk to chunk. */
  const cited = new Set<string>();
  let index = 0;
  let isOpen = false;
  let contentLength = 0;
  let waitingCharacters = 0;

  // All of this may arrive in one chunk, and in this order.
  function push(part: AnswerPart): AnswerEvent[] {
    if (part.reasoning !== "") addThinking(part.reasoning);
    addText(part.text);
    addRefusal(part.refusal);
    for (const annotation of part.annotations) cite(annotation);
    for (const tool of part.tools) addTool(tool);
    return drain();
  }

  function addThinking(text: string): void {
    const last = queue.at(-1);
    const segment = last?.kind === "thinking" && last.signature === null ? last : enqueueThinking();
    wait(segment, text);
  }

  function enqueueThinking(): ThinkingSegment {
    return enqueue({ kind: "thinking", pending: "", signature: null });
  }

  /** Clients keep signatures of thinking, so the thinking carries the call's. Servers sign a call when they begin it. */
  function addSignature(signature: string): void {
    if (signature === "") return;
    const last = queue.at(-1);
    const segment = last?.kind === "thinking" && last.signature === null ? last : enqueueThinking();
    segment.signature = sealCallSignature(thinker, signature);
  }

  // Empty pieces are common and must not open a block.
  function addText(piece: string): void {
    if (piece === "") return;
    const last = queue.at(-1);
    text = last?.kind === "text" ? last : enqueue({ kind: "text", pending: "", start: contentLength, citations: [] });
    wait(text, piece);
    contentLength += piece.length;
  }

  function addRefusal(text: string): void {
    if (text === "") return;
    const last = queue.at(-1);
    const segment = last?.kind === "refusal" ? last : enqueue({ kind: "refusal", pending: "" });
    wait(segment, text);
  }

  /** A citation belongs to the text before it; without any, or once that text has ended, there is nothing to cite. */
  function cite({ url, title, range }: Annotation): void {
    const segment = text;
    const key = JSON.stringify([url, range]);
    if (segment === undefined || cited.has(key) || cited.size === MAX_CITATIONS) return;
    cited.add(key);
    segment.citations.push({ url, title, range: range === null ? null : within(range, segment.start) });
  }

  function addTool(part: ToolPart): void {
    const call = findCall(part) ?? startCall(part);
    call.name ||= part.name;
    if (call.upstreamId === "" && part.id !== "") {
      call.upstreamId = part.id;
      noteId(call);
    }
    // A finished call accepts nothing more: only white space may still arrive.
    const heldBefore = call.arguments.heldCharacters();
    const added = call.arguments.push(part.arguments);
    noteWaiting(call.arguments.heldCharacters() - heldBefore);
    if (call.segment !== null) wait(call.segment, added);
  }

  function noteId(call: Call): void {
    const other = callsById.get(call.upstreamId);
    if (other === undefined || other.order < call.order) callsById.set(call.upstreamId, call);
  }

  /**
   * The call that a piece continues: by index, else by id, else the latest. Some servers number every parallel call 0: another id
   * together with a name starts a new call even so. So does a name after a complete call if there is neither index nor id, and a
   * name with an object after a complete call that has an index and no id (Gemini).
   */
  function findCall(part: ToolPart): Call | undefined {
    if (part.index === null && part.id === "") {
      return part.name !== "" && latestCall?.arguments.isComplete() === true ? undefined : latestCall;
    }
    const known = part.index === null ? findByLateId(part) : callsByIndex.get(part.index);
    if (known === undefined || part.name === "") return known;
    const isOther = part.id === "" ? isAnother(part, known) : known.upstreamId !== "" && part.id !== known.upstreamId;
    return isOther ? undefined : known;
  }

  /** An id may come with a later piece. */
  function findByLateId({ id, name }: ToolPart): Call | undefined {
    return callsById.get(id) ?? (name === "" && latestCall?.upstreamId === "" ? latestCall : undefined);
  }

  /** Snapshots and servers that give ids may repeat a complete call. */
  function isAnother(part: ToolPart, known: Call): boolean {
    if (hasArgumentSnapshots || known.upstreamId !== "" || !known.arguments.isComplete()) return false;
    return part.arguments.trimStart().startsWith("{");
  }

  function startCall(part: ToolPart): Call {
    const order = (latestCall?.order ?? 0) + 1;
    checkCalls(order);
    const call: Call = {
      order,
      index: part.index,
      upstreamId: part.id,
      name: part.name,
      arguments: createToolArguments({ isSnapshot: hasArgumentSnapshots }),
      segment: null,
    };
    latestCall = call;
    if (call.index !== null) callsByIndex.set(call.index, call);
    if (call.upstreamId !== "") noteId(call);
    addSignature(part.signature);
    call.segment = enqueue({ kind: "tool", pending: "", call });
    return call;
  }

  function enqueue<New extends Segment>(segment: New): New {
    if (queue.length === MAX_BLOCKS) throw tooMuchWaits();
    queue.push(segment);
    return segment;
  }

  function wait(segment: Segment, piece: string): void {
    noteWaiting(piece.length);
    segment.pending += piece;
  }

  function noteWaiting(characters: number): void {
    waitingCharacters += characters;
    if (waitingCharacters > MAX_KEPT_CHARACTERS) throw tooMuchWaits();
  }

  function drain(): AnswerEvent[] {
    const events: AnswerEvent[] = [];
    for (let head = queue[0]; head !== undefined; head = queue[0]) {
      events.push(...write(head));
      const isOver = queue.length > 1 && (head.kind !== "tool" || (isOpen && head.call.arguments.isComplete()));
      if (!isOver) break;
      events.push(...close(head));
    }
    return events;
  }

  function write(head: Segment): AnswerEvent[] {
    // A call without a name can't be opened yet; its arguments are kept in `pending`.
    if (head.kind === "tool" && head.call.name === "") return [];
    const events: AnswerEvent[] = [];
    if (!isOpen) events.push({ type: "open", index, block: opened(head) });
    isOpen = true;
    if (head.pending !== "") events.push({ type: GROWTH[head.kind], index, text: head.pending });
    waitingCharacters -= head.pending.length;
    head.pending = "";
    return events;
  }

  function close(head: Segment): AnswerEvent[] {
    queue.shift();
    if (head === text) text = undefined;
    if (head.kind === "tool") {
      head.call.segment = null;
      waitingCharacters -= head.call.arguments.heldCharacters();
      wait(head, head.call.arguments.end());
    }
    const events = write(head);
    if (head.kind === "text" && head.citations.length > 0) events.push({ type: "citations", index, citations: head.citations });
    if (head.kind === "thinking" && head.signature !== null) events.push({ type: "signature", index, signature: head.signature });
    events.push({ type: "close", index });
    index += 1;
    isOpen = false;
    return events;
  }

  function opened(head: Segment): OpenedBlock {
    if (head.kind !== "tool") return { type: head.kind };
    return { type: "tool_call", id: ids.next(head.call.upstreamId), name: names.toClient(head.call.name) };
  }

  return {
    push,
    end: ({ isCut }) => {
      const events: AnswerEvent[] = [];
      for (let head = queue[0]; head !== undefined; head = queue[0]) {
        if (head.kind !== "tool" || head.call.name !== "") {
          events.push(...close(head));
          continue;
        }
        if (!isCut && !isBlank(head)) throw callWithoutName();
        queue.shift();
      }
      return events;
    },
  };
}

/** Some servers send an empty call beside their text. */
function isBlank({ call, pending }: ToolSegment): boolean {
  return call.upstreamId === "" && pending === "" && call.arguments.heldCharacters() === 0;
}

/** An answer contains no more citations than this. */
const MAX_CITATIONS = 1_000;

function tooMuchWaits(): GatewayError {
  return new GatewayError("upstream_error", "The model server sent too much other content before a tool call was complete.");
}

function within({ start, end }: { start: number; end: number }, blockStart: number): Citation["range"] {
  return start < blockStart ? null : { start: start - blockStart, end: end - blockStart };
}

const GROWTH = { text: "text", refusal: "refusal", thinking: "thinking", tool: "arguments" } as const satisfies Record<
  Segment["kind"],
  GrowthEvent["type"]
>;
