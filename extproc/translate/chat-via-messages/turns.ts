import type { Message, MessageOf, ToolCall } from "../../protocol/chat/request-message.ts";
import { messagesToolId } from "../ids.ts";
import type { ToolNames } from "../names.ts";
import type { Block, Turn } from "./block.ts";
import { translateContent, translateText, type ContentOptions } from "./content.ts";
import { translateReasoningDetails } from "./reasoning-history.ts";
import { translateArguments } from "./tool-call.ts";

export interface Conversation {
  system: Block[];
  turns: Turn[];
  /** What the history holds that a messages upstream cannot get, for `x-gateway-dropped`. */
  dropped: string[];
}

export interface ConversationOptions {
  names: ToolNames;
  cacheTtl: ContentOptions["cacheTtl"];
}

/** A call that waits for its result in the next user turn. */
interface OpenCall {
  key: string;
  id: string;
  result: Block | null;
}

/** Stands where messages demands a turn and the client has none. */
const CONTINUE: Block = { type: "text", text: "(continue)" };

/**
 * Chat's flat list as messages' turns: user first, then alternating, each tool call answered at the head of the
 * next user turn. Everything is a function of the messages before it, so a longer history starts with the same bytes.
 */
export function translateMessages(messages: readonly Message[], { names, cacheTtl }: ConversationOptions): Conversation {
  const turns: Turn[] = [];
  const dropped = new Set<string>();
  const seen = new Map<string, number>();
  let open: OpenCall[] = [];
  let waiting: Block[] = [];

  const bodyStart = messages.findIndex((message) => !isSystem(message));
  const head = bodyStart < 0 ? messages.length : bodyStart;
  const system = messages.slice(0, head).flatMap((message, index) => translateText(message.content, options(index)));

  for (const [offset, message] of messages.slice(head).entries()) {
    const index = head + offset;
    if (message.role === "assistant") addAssistant(message, index);
    else addToUserTurn(message, index);
  }
  closeUserTurn();
  trimPrefill(turns);
  if (turns[0]?.role !== "user") turns.unshift({ role: "user", content: [CONTINUE] });
  return { system, turns, dropped: [...dropped] };

  function options(index: number): ContentOptions {
    return { field: `messages[${index}].content`, cacheTtl };
  }

  function addAssistant(message: MessageOf<"assistant">, index: number): void {
    const calls = callsOf(message);
    const said = [...translateContent(message.content, options(index)), ...refusalBlocks(message)];
    const thinking = translateReasoningDetails(message.reasoning_details);
    if (thinking.length === 0 && hasReasoning(message)) dropped.add("messages[].reasoning_content");
    // Some agents put empty turns between others; thinking alone is no turn either.
    if (said.length === 0 && calls.length === 0) return;

    closeUserTurn();
    const uses = calls.map((call, position) => addCall(call, `messages[${index}].tool_calls[${position}].function.arguments`));
    const last = turns.at(-1);
    if (last?.role === "assistant") last.content.push(...thinking, ...said, ...uses);
    else turns.push({ role: "assistant", content: [...thinking, ...said, ...uses] });
  }

  function addCall(call: ToolCall, field: string): Block {
    const id = uniqueId(call.id);
    open.push({ key: call.id, id, result: null });
    const input = call.kind === "custom" ? { input: call.input } : translateArguments(call.arguments, field);
    return { type: "tool_use", id, name: names.toUpstream(call.name), input };
  }

  /** Many servers count from `call_0` in every answer, but messages wants each id once in a conversation. */
  function uniqueId(id: string): string {
    const count = (seen.get(id) ?? 0) + 1;
    seen.set(id, count);
    return messagesToolId(count === 1 ? id : `${id}\0${count}`);
  }

  function addToUserTurn(message: Exclude<Message, { role: "assistant" }>, index: number): void {
    switch (message.role) {
      case "system":
      case "developer":
        waiting.push(...translateText(message.content, options(index)).map(asReminder));
        return;
      case "user":
        waiting.push(...translateContent(message.content, options(index)));
        return;
      case "tool":
        addResult(message.tool_call_id, translateContent(message.content, options(index)));
        return;
      case "function":
        addResult(legacyKey(message.name), translateContent(message.content, options(index)));
    }
  }

  function addResult(key: string, content: Block[]): void {
    const call = open.find((candidate) => candidate.key === key && candidate.result === null);
    if (call === undefined) {
      // Messages refuses a result without its call; what it says is still worth reading.
      waiting.push({ type: "text", text: `[result of the earlier tool call ${key}]` }, ...content);
      return;
    }
    const marked = content.findLast((block) => block["cache_control"] !== undefined);
    call.result = {
      type: "tool_result",
      tool_use_id: call.id,
      content: content.length === 0 ? undefined : content.map(withoutMark),
      cache_control: marked?.["cache_control"],
    };
  }

  /** Results first, in the order of their calls: messages refuses text before them and calls without one. */
  function closeUserTurn(): void {
    const content = [...open.map((call) => call.result ?? missingResult(call.id)), ...waiting];
    open = [];
    waiting = [];
    if (content.length > 0) turns.push({ role: "user", content });
  }
}

/** Tool names that a history uses. */
export function namesInHistory(messages: readonly Message[]): string[] {
  return messages.flatMap((message) => (message.role === "assistant" ? callsOf(message).map((call) => call.name) : []));
}

function callsOf(message: MessageOf<"assistant">): ToolCall[] {
  const legacy = message.function_call;
  const calls = message.tool_calls ?? [];
  return legacy
    ? [...calls, { kind: "function", id: legacyKey(legacy.name), name: legacy.name, arguments: legacy.arguments }]
    : calls;
}

/** Calls from before tools have no ids: the name is what ties a result to its call. */
function legacyKey(name: string): string {
  return `function:${name}`;
}

function refusalBlocks(message: MessageOf<"assistant">): Block[] {
  return message.refusal?.trim() ? [{ type: "text", text: message.refusal }] : [];
}

function hasReasoning(message: MessageOf<"assistant">): boolean {
  return [message.reasoning_content, message.reasoning].some((text) => typeof text === "string" && text !== "");
}

/** A system message among the turns keeps its place: moved to the head, it would change every later prompt cache. */
function asReminder(block: Block): Block {
  const text = typeof block["text"] === "string" ? block["text"] : "";
  return { ...block, text: `<system-reminder>\n${text}\n</system-reminder>` };
}

/** A mark inside a result moves to the result as a whole: blocks further in have none. */
function withoutMark(block: Block): Block {
  return { ...block, cache_control: undefined };
}

function missingResult(id: string): Block {
  return { type: "tool_result", tool_use_id: id, content: [{ type: "text", text: "[no result]" }], is_error: true };
}

/** An answer that the client began must not end in white space: messages refuses that. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  const block = last.content.at(-1);
  if (typeof block?.["text"] === "string") last.content.splice(-1, 1, { ...block, text: block["text"].trimEnd() });
}

function isSystem(message: Message): message is MessageOf<"system"> {
  return message.role === "system" || message.role === "developer";
}
