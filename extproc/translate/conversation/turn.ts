import type { RawJson } from "../../protocol/json/raw.ts";
import { fieldError, type FieldPath } from "./field-path.ts";

/**
 * What was said, in order. Neighbours may have the same role; the result of a call stands in the turns that follow it, before the
 * assistant's next.
 */
export interface Turn {
  readonly role: "user" | "assistant" | "system";
  readonly content: readonly Block[];
  readonly at: FieldPath;
}

export type Block =
  | TextBlock
  | ImageBlock
  | DocumentBlock
  | ToolCallBlock
  | ToolResultBlock
  | ThinkingBlock
  | RedactedThinkingBlock;
export type ResultBlock = TextBlock | ImageBlock | DocumentBlock;

/** The client asks for the prompt up to here to be cached. */
export interface CacheMark {
  /** Null leaves it to the server. */
  readonly ttl: "5m" | "1h" | null;
}

interface Placed {
  readonly at: FieldPath;
  readonly cache: CacheMark | null;
}

export interface TextBlock extends Placed {
  readonly type: "text";
  readonly text: string;
}

export interface InlineData {
  readonly kind: "data";
  readonly mediaType: string;
  readonly base64: string;
}

export interface ImageBlock extends Placed {
  readonly type: "image";
  readonly source: InlineData | { readonly kind: "url"; readonly url: string };
  /** How closely the model looks at it, in the words of chat and Responses; null leaves it to the server. */
  readonly detail: string | null;
}

export interface DocumentBlock extends Placed {
  readonly type: "document";
  readonly source:
    | InlineData
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "blocks"; readonly content: readonly (TextBlock | ImageBlock)[] };
  readonly title: string | null;
  readonly context: string | null;
}

/** What a call was given. */
export type ToolInput =
  /** An object, as it was written: numbers keep their digits. */
  | { readonly kind: "json"; readonly json: RawJson }
  /** What a tool of kind "custom" takes. */
  | { readonly kind: "free_text"; readonly text: string }
  /** Arguments that are no object, for example cut off by the output limit. */
  | { readonly kind: "raw"; readonly text: string };

export interface ToolCallBlock extends Placed {
  readonly type: "tool_call";
  /** As the server that made the call knows it (ids.ts). */
  readonly id: string;
  readonly name: string;
  readonly input: ToolInput;
}

export interface ToolResultBlock extends Placed {
  readonly type: "tool_result";
  readonly id: string;
  readonly content: readonly ResultBlock[];
  readonly isError: boolean;
}

export interface ThinkingBlock {
  readonly type: "thinking";
  readonly text: string;
  /** Of this Model's own server; null where nobody signed it, or another did, who alone takes it back. */
  readonly signature: string | null;
}

/** Thinking that only this Model's own server can read. */
export interface RedactedThinkingBlock {
  readonly type: "redacted_thinking";
  readonly data: string;
}

/** For servers that answer an answer that the client began instead of continuing it. */
export function noPrefill({ at }: Turn): Error {
  return fieldError(at, ": this model does not support assistant message prefill. End the conversation with a user message.");
}
