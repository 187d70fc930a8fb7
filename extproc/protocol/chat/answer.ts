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
  /** The first choice; null in a chunk with only usage. */
  part: AnswerPart | null;
  /** The part is a complete message: in a stream it repeats the pieces before it (MiniMax). */
  isWhole: boolean;
  usage: Partial<Usage> | undefined;
}

export interface ChatAnswerOptions extends ChatUsageOptions {
  /** For the text of an error in the answer. */
  modelNames?: ModelNames;
  /** For its status. */
  client: Interface;
}

/**
 * Reads a completion (`message`) or a chunk (`delta`). Of several choices only the first counts: the gateway requests one.
 * @throws GatewayError `upstream_error` if it is not a JSON object, and the upstream's own error if it contains one.
 */
export function parseChatAnswer(json: string, options: ChatAnswerOptions): ChatAnswer {
  const parsed = parseObject(json);
  const { id } = parsed;
  const error = errorIn(parsed, null);
  if (error !== null) throw readUpstreamErrorPayload(error, options);
  const choice = firstChoice(parsed["choices"]);
  return {
    id: typeof id === "string" ? id : "",
    part: choice === null ? null : partOf(choice),
    isWhole: choice !== null && !isObject(choice["delta"]),
    usage: chatUsage(parsed, options),
  };
}

function partOf(choice: Readonly<Record<string, unknown>>): AnswerPart | null {
  const { delta, message } = choice;
  if (isObject(delta)) return readPart({ choice, body: delta, isWhole: false });
  if (isObject(message)) return readPart({ choice, body: message, isWhole: true });
  // Text completions have their text there.
  const isForeign = [delta, message, choice["text"]].some((value) => value !== undefined && value !== null && value !== "");
  if (isForeign) throw foreign();
  return typeof choice["finish_reason"] === "string" ? readPart({ choice, body: {}, isWhole: true }) : null;
}

function firstChoice(choices: unknown): Readonly<Record<string, unknown>> | null {
  if (!Array.isArray(choices)) return null;
  const first: unknown = choices.find((choice: unknown) => isObject(choice) && (choice["index"] ?? 0) === 0);
  return isObject(first) ? first : null;
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
