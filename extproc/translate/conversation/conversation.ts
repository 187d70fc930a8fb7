import type { Tool, ToolChoice } from "./tool.ts";
import type { TextBlock, Turn } from "./turn.ts";
import type { Wishes } from "./wish.ts";

/**
 * A protocol-neutral request: every interface's request is read into it, and every server's request is written from it. Content
 * that one side cannot express is carried unchanged (signatures, the JSON text of schemas and inputs), and every part knows where
 * the client wrote it.
 */
export interface Conversation {
  /** The Model's name as the client wrote it: answers repeat it. */
  readonly model: string;
  readonly wantsStream: boolean;
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  /** Null if the client does not say. */
  readonly choice: ToolChoice | null;
  /** One call at a time. */
  readonly isSerial: boolean;
  readonly wishes: Wishes;
  readonly words: ClientWords;
}

/** The client's names for fields that a server may not support. */
export interface ClientWords {
  readonly thinking: string;
  readonly redactedThinking: string;
  readonly strictTool: string;
  readonly imageDetail: string;
  readonly outputLimit: string;
  /** Null if the client did not request it explicitly. */
  readonly serialCalls: string | null;
}

/** Names of omitted fields, for `x-gateway-dropped`: the reader of the request starts the list, its writer continues it. */
export interface Omitted {
  readonly content: Set<string>;
  readonly tools: Set<string>;
  readonly wishes: Set<string>;
  names(): string[];
}

/** @param fields omitted top-level fields. */
export function createOmitted(fields: readonly string[]): Omitted {
  const content = new Set<string>();
  const tools = new Set<string>();
  const wishes = new Set<string>();
  return { content, tools, wishes, names: () => [...new Set([...fields, ...content, ...tools, ...wishes])] };
}

/** Passed from the reader of a request to the writer of another. */
export interface ReadRequest {
  readonly conversation: Conversation;
  readonly omitted: Omitted;
}

/** The names of all tools mentioned in a conversation. */
export function toolNamesIn({ tools, turns }: Pick<Conversation, "tools" | "turns">): string[] {
  return [...tools.map(({ name }) => name), ...calledTools(turns)];
}

/** Those that its turns have called. */
export function calledTools(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ content }) => content.flatMap((block) => (block.type === "tool_call" ? [block.name] : [])));
}
