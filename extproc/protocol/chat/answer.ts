import { GatewayError } from "../../../contract/errors.ts";
import type { Interface } from "../../../contract/protocol.ts";
import type { Usage } from "../../../contract/usage.ts";
import { ANSWER_BOUNDS, parseWithin } from "../json/bounds.ts";
import { isObject } from "../json/object.ts";
import { errorIn } from "./error.ts";
import { readUpstreamErrorPayload, type ModelNames } from "../upstream-error.ts";
import { readPart, type AnswerPart } from "./answer-part.ts";
import { chatUsage, type ChatUsageOptions } from "./usage.ts";

/** A completion, or one chunk of it: read the same way, except for the choice's body. */
export interface ChatAnswer {
  /** Empty if the server sent none. */
  id: string;
  /** The choice that counts; null in a chunk with only usage. */
  part: AnswerPart | null;
  /** Its index; null if there is no part. */
  index: number | null;
  /** The part is a complete message: in a stream it repeats the pieces before it (MiniMax). */
  isWhole: boolean;
  usage: Partial<Usage> | undefined;
}

export interface ChatAnswerOptions extends ChatUsageOptions {
  /** For the text of an error in the answer. */
  modelNames?: ModelNames;
  /** For its status. */
  client: Interface;
  /** Of the choice that counted in the chunks before; absent if there were none. */
  index?: number | undefined;
  /** It is no chunk: its message counts, even beside a delta, which Perplexity adds. */
  isComplete?: boolean;
}

/**
 * Reads a completion (`message`) or a chunk (`delta`). Of several choices only the first counts, that of the index 0
 * if there is one: the gateway requests one, and servers number it from 1, too.
 * @throws GatewayError `upstream_error` if it is not a JSON object, and the upstream's own error if it contains one.
 */
export function parseChatAnswer(json: string, options: ChatAnswerOptions): ChatAnswer {
  const parsed = parseObject(json);
  const { id } = parsed;
  const error = errorIn(parsed, null);
  if (error !== null) throw readUpstreamErrorPayload(error, options);
  const choice = firstChoice(parsed["choices"], options.index);
  const part = choice === null ? null : partOf(choice, options.isComplete ?? false);
  return {
    id: typeof id === "string" ? id : "",
    part,
    index: choice === null || part === null ? null : indexOf(choice),
    isWhole: choice !== null && !isObject(choice["delta"]),
    usage: chatUsage(parsed, options),
  };
}

function partOf(choice: Readonly<Record<string, unknown>>, isComplete: boolean): AnswerPart | null {
  const { delta, message } = choice;
  if (isObject(delta) && !(isComplete && isObject(message))) return readPart({ choice, body: delta, isWhole: false });
  if (isObject(message)) return readPart({ choice, body: message, isWhole: true });
  // Text completions have their text there.
  const isForeign = [delta, message, choice["text"]].some((value) => value !== undefined && value !== null && value !== "");
  if (isForeign) throw foreign();
  return typeof choice["finish_reason"] === "string" ? readPart({ choice, body: {}, isWhole: true }) : null;
}

function firstChoice(choices: unknown, known: number | undefined): Readonly<Record<string, unknown>> | null {
  if (!Array.isArray(choices)) return null;
  let first: Readonly<Record<string, unknown>> | null = null;
  for (const choice of choices) {
    if (!isObject(choice)) continue;
    if (indexOf(choice) === (known ?? 0)) return choice;
    if (known === undefined) first ??= choice;
  }
  return first;
}

function indexOf({ index }: Readonly<Record<string, unknown>>): number {
  return typeof index === "number" ? index : 0;
}

function parseObject(json: string): Readonly<Record<string, unknown>> {
  try {
    const parsed = parseWithin(json, ANSWER_BOUNDS);
    if (isObject(parsed)) return parsed;
  } catch (error) {
    throw unreadable(error);
  }
  throw unreadable(undefined);
}

function foreign(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer is not a chat completion: it has no message.");
}

function unreadable(cause: unknown): GatewayError {
  return new GatewayError("upstream_error", "The model server sent an answer that is not valid JSON.", { cause });
}
