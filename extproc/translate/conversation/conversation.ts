import type { Tool, ToolChoice } from "./tool.ts";
import type { TextBlock, Turn } from "./turn.ts";
import type { Wishes } from "./wish.ts";

/**
 * A request in nobody's words: what every interface is read into, and what every server's request is written from. What one side
 * cannot say goes along as it is (signatures, the JSON text of schemas and inputs), and every part knows where the client wrote it.
 */
export interface Conversation {
  /** The Model's name as the client wrote it: answers repeat it. */
  readonly model: string;
  readonly wantsStream: boolean;
  readonly system: readonly TextBlock[];
  readonly turns: readonly Turn[];
  readonly tools: readonly Tool[];
  /** Null where the client says nothing. */
  readonly choice: ToolChoice | null;
  /** One call at a time. */
  readonly isSerial: boolean;
  readonly wishes: Wishes;
  readonly words: ClientWords;
}

/** The client's names for what a server may be unable to take. */
export interface ClientWords {
  readonly thinking: string;
  readonly redactedThinking: string;
  readonly strictTool: string;
  readonly imageDetail: string;
  readonly outputLimit: string;
  /** Null where the client did not ask for it in words. */
  readonly serialCalls: string | null;
}

/** Names of what is left out, for `x-gateway-dropped`: the reader of the request begins, its writer goes on. */
export interface Omitted {
  readonly content: Set<string>;
  readonly tools: Set<string>;
  readonly wishes: Set<string>;
  names(): string[];
}

/** @param fields top-level fields that are left out. */
export function createOmitted(fields: readonly string[]): Omitted {
  const content = new Set<string>();
  const tools = new Set<string>();
  const wishes = new Set<string>();
  return { content, tools, wishes, names: () => [...new Set([...fields, ...content, ...tools, ...wishes])] };
}

/** What the reader of a request gives to the writer of another. */
export interface ReadRequest {
  readonly conversation: Conversation;
  readonly omitted: Omitted;
}

/** The names of all tools that a conversation speaks of. */
export function toolNamesIn({ tools, turns }: Pick<Conversation, "tools" | "turns">): string[] {
  return [...tools.map(({ name }) => name), ...calledTools(turns)];
}

/** Those that its turns have called. */
export function calledTools(turns: readonly Turn[]): string[] {
  return turns.flatMap(({ content }) => content.flatMap((block) => (block.type === "tool_call" ? [block.name] : [])));
}
