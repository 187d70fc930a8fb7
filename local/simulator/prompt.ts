/** A request in the terms that all protocols share: the input of the simulated model. */
export interface Prompt {
  model: string;
  /** Text of the system prompt and of each message, in order; tool arguments and results are text too. */
  texts: readonly string[];
  /** Text of the last user message that has any. */
  lastUserText: string;
  /** Results of tools, if the request ends with them. */
  toolResults: readonly string[];
  /** Number of turns with tool calls after the last user text. */
  toolRounds: number;
  tools: readonly Tool[];
  toolChoice: ToolChoice;
  allowsParallelTools: boolean;
  wantsReasoning: boolean;
  wantsStream: boolean;
  maxOutputTokens: number | undefined;
  stopSequences: readonly string[];
  /** JSON schema of the answer's text; undefined if it has none. */
  responseSchema: unknown;
  /** Without a schema, the answer's text is to be any JSON object. */
  wantsJson: boolean;
}

export interface Tool {
  name: string;
  /** JSON schema of its arguments. */
  schema: unknown;
}

/** Those that the request's choice leaves. */
export function allowedTools(tools: readonly Tool[], names: readonly string[] | undefined): readonly Tool[] {
  return names === undefined ? tools : tools.filter(({ name }) => names.includes(name));
}

export type ToolChoice = { kind: "auto" } | { kind: "none" } | { kind: "any" } | { kind: "named"; name: string };

/** A request that the server rejects as its real counterpart would. */
export class PromptError extends Error {
  readonly field: string;

  constructor(field: string, message: string) {
    super(`${field}: ${message}`);
    this.name = "PromptError";
    this.field = field;
  }
}

const BYTES_PER_TOKEN = 4;

/** The simulated tokenizer: a token is four UTF-8 bytes. */
export function countTokens(...texts: readonly string[]): number {
  return Math.ceil(texts.reduce((bytes, text) => bytes + Buffer.byteLength(text), 0) / BYTES_PER_TOKEN);
}

/** The first tokens of a text, without cutting a character in two. */
export function takeTokens(text: string, tokens: number): string {
  if (Buffer.byteLength(text) <= tokens * BYTES_PER_TOKEN) return text;
  let bytes = 0;
  let taken = "";
  for (const character of text) {
    bytes += Buffer.byteLength(character);
    if (bytes > tokens * BYTES_PER_TOKEN) break;
    taken += character;
  }
  return taken;
}
