import type { RawJson } from "../../protocol/json/raw.ts";
import { fieldError, type FieldPath } from "./field-path.ts";

/**
 * The content, in order. Neighbors may have the same role; the result of a call is in the turns that follow it, before the
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

/** The client wants the prompt up to here to be cached. */
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
  /** How closely the model looks at it, in chat's and Responses' terms; null leaves it to the server. */
  readonly detail: string | null;
}

export interface DocumentBlock extends Placed {
  readonly type: "document";
  readonly source:
    | InlineData
    /** The server fetches it. `at`: where the address is. */
    | { readonly kind: "url"; readonly url: string; readonly at: FieldPath }
    | { readonly kind: "text"; readonly text: string }
    | { readonly kind: "blocks"; readonly content: readonly (TextBlock | ImageBlock)[] };
  readonly title: string | null;
  readonly context: string | null;
}

/** A call's input. */
export type ToolInput =
  /** An object, as written: numbers keep their digits. */
  | { readonly kind: "json"; readonly json: RawJson }
  /** The input of a tool of kind "custom". */
  | { readonly kind: "free_text"; readonly text: string }
  /** Arguments that are not an object, for example cut off by the output limit. */
  | { readonly kind: "raw"; readonly text: string };

export interface ToolCallBlock extends Placed {
  readonly type: "tool_call";
  /** As known to the server that made the call (ids.ts). */
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
  /** Of this Model's own server; null if it is unsigned, or if another server signed it, which alone accepts it back. */
  readonly signature: string | null;
}

/** Thinking that only this Model's own server can read. */
export interface RedactedThinkingBlock {
  readonly type: "redacted_thinking";
  readonly data: string;
}

/** For servers that reply to an answer that the client began instead of continuing it. */
export function noPrefill({ at }: Turn): Error {
  return fieldError(at, ": this model does not support assistant message prefill. End the conversation with a user message.");
}
