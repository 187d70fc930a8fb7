import { isUtf8 } from "node:buffer";
import { GatewayError } from "../../../contract/errors.ts";
import type { JsonObject } from "../../translate/translation.ts";

const NO_BODY = "The request has no body. Send a JSON object with `model` and `messages`.";

/**
 * Refuses, before it is read, a body that does not come or could not be read.
 * @throws GatewayError `invalid_request`.
 */
export function checkBodyComes(headers: ReadonlyMap<string, string>, isEnd: boolean): void {
  if (isEnd) throw new GatewayError("invalid_request", NO_BODY);
  if (!headers.has("content-encoding")) return;
  throw new GatewayError("invalid_request", "Compressed request bodies are not read. Send the body without `content-encoding`.", {
    field: "content-encoding",
  });
}

/**
 * The request body as an object, parsed once.
 * @throws GatewayError `invalid_request` that tells where the text stops being JSON, never quotes it (S21).
 */
export function parseBody(body: Buffer): JsonObject {
  if (body.length === 0) throw new GatewayError("invalid_request", NO_BODY);
  // Decoding would replace broken sequences in silence, and what is sent on would not be what was meant.
  if (!isUtf8(body)) throw new GatewayError("invalid_request", "The request body is not valid UTF-8.");
  const parsed = parseJson(body.toString("utf8"));
  if (!isObject(parsed))
    throw new GatewayError("invalid_request", "The request body must be a JSON object with `model` and `messages`.");
  return parsed;
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
    const where = position === undefined ? "" : ` near character ${position}`;
    throw new GatewayError("invalid_request", `The request body is not valid JSON${where}.`);
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
