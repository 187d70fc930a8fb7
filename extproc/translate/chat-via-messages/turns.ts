import { GatewayError } from "../../../contract/errors.ts";
import type { Message, MessageOf, ToolCall } from "../../protocol/chat/request-message.ts";
import { createEmbeddedJson, REQUEST_BOUNDS } from "../../protocol/json/bounds.ts";
import type { ToolNames } from "../conversation/names.ts";
import type { Block, Turn } from "./block.ts";
import { cacheMark, translateContent, translateText, type ContentOptions } from "./content.ts";
import { createOpenCalls } from "./open-calls.ts";
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
  /** Where a turn of role system may stand: behind a user's turn (profile flag `systemTurns`), or among the user's words. */
  systemTurns: "nowhere" | "behind_user" | "anywhere";
}

/** Stands where messages demands a turn and the client has none. */
const CONTINUE: Block = { type: "text", text: "(continue)" };

/**
 * Chat's flat list as messages' turns: user first, then alternating, each tool call answered at the head of the
 * next user turn. Everything is a function of the messages before it, so a longer history starts with the same bytes.
 */
export function translateMessages(
  messages: readonly Message[],
  { names, cacheTtl, systemTurns }: ConversationOptions,
): Conversation {
  const turns: Turn[] = [];
  const dropped = new Set<string>();
  const calls = createOpenCalls();
  const embedded = createEmbeddedJson(REQUEST_BOUNDS);
  let waiting: WaitingBlock[] = [];

  const bodyStart = messages.findIndex((message) => !isSystem(message));
  const head = bodyStart < 0 ? messages.length : bodyStart;
  const system = messages
    .slice(0, head)
    .filter(isSystem)
    .flatMap((message, index) => textOf(message, index));

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
    return { field: `messages[${index}].content`, cacheTtl, dropped };
  }

  function contentOf(message: Message, index: number): Block[] {
    if (message.role !== "function" && isSet(message.name)) dropped.add("messages[].name");
    return markLast(translateContent(message.content, options(index)), cacheMark(message, { cacheTtl }));
  }

  function textOf(message: MessageOf<"system" | "developer">, index: number): Block[] {
    if (isSet(message.name)) dropped.add("messages[].name");
    return markLast(translateText(message.content, options(index)), cacheMark(message, { cacheTtl }));
  }

  function addAssistant(message: MessageOf<"assistant">, index: number): void {
    if (isSet(message.audio)) throw refuseAudio(index);
    if (Array.isArray(message.annotations) && message.annotations.length > 0) dropped.add("messages[].annotations");
    const made = callsOf(message);
    const said = [...contentOf(message, index), ...refusalBlocks(message)];
    const thinking = translateReasoningDetails(message.reasoning_details);
    if (thinking.length === 0 && hasReasoning(message)) dropped.add("messages[].reasoning_content");
    // Some agents put empty turns between others; thinking alone is no turn either.
    if (said.length === 0 && made.length === 0) return;

    closeUserTurn();
    const uses = made.map((call, position) => addCall(call, `messages[${index}].tool_calls[${position}].function.arguments`));
    const last = turns.at(-1);
    if (last?.role === "assistant") last.content.push(...thinking, ...said, ...uses);
    else turns.push({ role: "assistant", content: [...thinking, ...said, ...uses] });
  }

  function addCall(call: ToolCall, field: string): Block {
    const input = call.kind === "custom" ? { input: call.input } : translateArguments(call.arguments, { field, embedded });
    return { type: "tool_use", id: calls.add(call.id), name: names.toUpstream(call.name), input };
  }

  function addToUserTurn(message: Exclude<Message, { role: "assistant" }>, index: number): void {
    switch (message.role) {
      case "system":
      case "developer":
        say("system", textOf(message, index));
        return;
      case "user":
        say("user", contentOf(message, index));
        return;
      case "tool":
        addResult(message.tool_call_id, contentOf(message, index));
        return;
      case "function":
        addResult(legacyKey(message.name), contentOf(message, index));
    }
  }

  function addResult(clientId: string, content: Block[]): void {
    if (calls.resolve(clientId, content)) return;
    // Messages refuses a result without its call; what it says is still worth reading.
    say("user", [{ type: "text", text: `[result of the earlier tool call ${clientId}]` }, ...content]);
  }

  function say(role: WaitingBlock["role"], blocks: readonly Block[]): void {
    waiting.push(...blocks.map((block) => ({ role, block })));
  }

  /** Results first: messages refuses text before them and calls without one. */
  function closeUserTurn(): void {
    const results = calls.close();
    if (systemTurns === "anywhere") {
      addTurns(results.map((block): WaitingBlock => ({ role: "user", block })).concat(waiting));
      waiting = [];
      return;
    }
    // A server that takes system turns takes them behind the user's words alone, one at a time.
    const lastOfUser = waiting.findLastIndex(({ role }) => role === "user");
    const hasUserWords = results.length > 0 || lastOfUser >= 0;
    const systemStart = systemTurns === "behind_user" && hasUserWords ? lastOfUser + 1 : waiting.length;
    const said = waiting.slice(0, systemStart).map(({ role, block }) => (role === "system" ? asReminder(block) : block));
    const last = waiting.slice(systemStart).map(({ block }) => block);
    waiting = [];
    if (results.length + said.length > 0) turns.push({ role: "user", content: [...results, ...said] });
    if (last.length > 0) turns.push({ role: "system", content: last });
  }

  function addTurns(blocks: readonly WaitingBlock[]): void {
    let open: Turn | undefined;
    for (const { role, block } of blocks) {
      if (open?.role !== role) turns.push((open = { role, content: [] }));
      open.content.push(block);
    }
  }
}

/** What the user's turn will say, or the system behind it. */
interface WaitingBlock {
  role: "user" | "system";
  block: Block;
}

/** A mark on a message holds for all of it: messages puts that on the last block. */
function markLast(blocks: Block[], mark: ReturnType<typeof cacheMark>): Block[] {
  const last = blocks.at(-1);
  return last === undefined ? blocks : [...blocks.slice(0, -1), { ...last, ...mark }];
}

function isSet(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
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

/** An answer that the client began must not end in white space: messages refuses that. */
function trimPrefill(turns: Turn[]): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  const block = last.content.at(-1);
  if (typeof block?.["text"] === "string") last.content.splice(-1, 1, { ...block, text: block["text"].trimEnd() });
}

/** It stands for words that only the service which spoke them has. */
function refuseAudio(index: number): GatewayError {
  const field = `messages[${index}].audio`;
  return new GatewayError(
    "invalid_request",
    `\`${field}\` names stored audio, and the gateway stores none. Send its transcript.`,
    {
      field,
    },
  );
}

function isSystem(message: Message): message is MessageOf<"system" | "developer"> {
  return message.role === "system" || message.role === "developer";
}
