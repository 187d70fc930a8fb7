import type { Message, MessageOf, ToolCall } from "../../protocol/chat/request-message.ts";
import { createEmbeddedJson, REQUEST_BOUNDS } from "../../protocol/json/bounds.ts";
import { below, fieldError, fieldPath, type FieldPath } from "../conversation/field-path.ts";
import { createFlatHistory } from "../conversation/flat-history.ts";
import { readArguments } from "../conversation/tool-input.ts";
import type { Block, CacheMark, ResultBlock, TextBlock, ToolInput, Turn } from "../conversation/turn.ts";
import { readCacheMark, readContent, readText, type ContentContext } from "./read-content.ts";
import { readReasoning } from "./reasoning-history.ts";
import { placeThoughts } from "./thought-positions.ts";

export interface ReadTurns {
  system: TextBlock[];
  turns: Turn[];
}

/** Chat's flat list as turns; system messages at its head form the system prompt. */
export function readTurns(messages: readonly Message[], context: ContentContext): ReadTurns {
  const history = createFlatHistory();
  const embedded = createEmbeddedJson(REQUEST_BOUNDS);
  const system: TextBlock[] = [];
  const messagesAt = fieldPath("messages");
  let isHead = true;

  for (const [index, message] of messages.entries()) {
    const at = below(messagesAt, index);
    isHead &&= isSystem(message);
    switch (message.role) {
      case "system":
      case "developer":
        if (isHead) system.push(...textOf(message, at));
        else history.append("system", textOf(message, at), at);
        break;
      case "user":
        history.append("user", contentOf(message, at), at);
        break;
      case "assistant":
        addAssistant(message, at);
        break;
      case "tool":
        history.result(message.tool_call_id, contentOf(message, at), at);
        break;
      case "function":
        history.result(legacyKey(message.name), contentOf(message, at), at);
    }
  }
  return { system, turns: history.end() };

  function contentOf(message: Message, at: FieldPath): ResultBlock[] {
    if (message.role !== "function") noteName(message);
    return markLast(readContent(message.content, below(at, "content"), context), readCacheMark(message, context));
  }

  function textOf(message: MessageOf<"system" | "developer">, at: FieldPath): TextBlock[] {
    noteName(message);
    return markLast(readText(message.content, below(at, "content"), context), readCacheMark(message, context));
  }

  function noteName({ name }: { name?: unknown }): void {
    if (isSet(name)) context.omitted.content.add("messages[].name");
  }

  function addAssistant(message: MessageOf<"assistant">, at: FieldPath): void {
    // It replaces speech that only the service that produced it has.
    if (isSet(message.audio))
      throw fieldError(below(at, "audio"), " refers to stored audio, and the gateway stores none. Send its transcript.");
    if (Array.isArray(message.annotations) && message.annotations.length > 0)
      context.omitted.content.add("messages[].annotations");
    const content = [...contentOf(message, at), ...refusalBlocks(message, at)];
    const callsAt = below(at, "tool_calls");
    const calls = callsOf(message).map((call, index) => readCall(call, below(callsAt, index)));
    const blocks = placeThoughts(readReasoning(message), content, calls);
    // The client has changed the text: a server rejects thinking in another place, and accepts a turn without any.
    if (blocks === null) context.omitted.content.add("messages[].reasoning_details");
    history.answer(blocks ?? [...content, ...calls], at);
  }

  function readCall(call: ToolCall, at: FieldPath): Block {
    const argumentsAt = below(below(at, "function"), "arguments");
    const input: ToolInput =
      call.kind === "custom"
        ? { kind: "free_text", text: call.input }
        : readArguments(call.arguments, { at: argumentsAt, embedded });
    return { type: "tool_call", id: call.id, name: call.name, input, cache: null, at };
  }
}

/** A mark on a message applies to all of it: it goes on the last block. */
function markLast<Marked extends ResultBlock>(blocks: Marked[], cache: CacheMark | null): Marked[] {
  const last = blocks.at(-1);
  return last === undefined || cache === null ? blocks : [...blocks.slice(0, -1), { ...last, cache }];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

function callsOf(message: MessageOf<"assistant">): ToolCall[] {
  const legacy = message.function_call;
  const calls = message.tool_calls ?? [];
  return legacy
    ? [...calls, { kind: "function", id: legacyKey(legacy.name), name: legacy.name, arguments: legacy.arguments }]
    : calls;
}

/** Calls from before tools have no ids: the name links a result to its call. */
function legacyKey(name: string): string {
  return `function:${name}`;
}

function refusalBlocks({ refusal }: MessageOf<"assistant">, at: FieldPath): TextBlock[] {
  return refusal?.trim() ? [{ type: "text", text: refusal, cache: null, at: below(at, "refusal") }] : [];
}

function isSystem(message: Message): message is MessageOf<"system" | "developer"> {
  return message.role === "system" || message.role === "developer";
}
