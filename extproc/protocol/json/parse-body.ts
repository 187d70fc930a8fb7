import { isUtf8 } from "node:buffer";
import { GatewayError } from "../../../contract/errors.ts";
import type { Interface } from "../../../contract/protocol.ts";
import { contentCoding } from "../content-coding.ts";
import { FORM_RULES, type FormKind } from "../form/form-rules.ts";
import { isObject, parseObject, type JsonObject } from "./object.ts";
import { EMBEDDINGS_BOUNDS, ExcessiveStructure, REQUEST_BOUNDS, tooMuchStructure, type Bounds } from "./bounds.ts";
import { ExcessiveOutline, MAX_OUTLINE_BYTES, outlineOf, type Outline } from "./outline.ts";
import { createRequestBody, parsedBody, type RequestBody } from "./request-body.ts";

/** The purpose of a body: for error messages. */
export interface BodyFacts {
  headers: ReadonlyMap<string, string>;
  interface: Interface;
  /** Absent for JSON. */
  form?: FormKind | undefined;
}

/**
 * Rejects, before it is read, a body that is missing or unreadable.
 * @throws GatewayError `invalid_request`.
 */
export function checkBodyComes(facts: BodyFacts, isEnd: boolean): void {
  if (isEnd) throw noBody(facts);
  if (contentCoding(facts.headers) === null) return;
  throw new GatewayError(
    "invalid_request",
    "Compressed request bodies are not supported. Send the body without `content-encoding`.",
    {
      field: "content-encoding",
    },
  );
}

/**
 * The request body as an object. What stands in its long strings is looked at where a translation reads it; what only passes is the
 * upstream's to judge.
 * @throws GatewayError `invalid_request` that tells where the text stops being JSON, never quotes it (S21); for more structure
 * than is read, before any of it is parsed, `invalid_request` or `request_too_large`.
 */
export function parseBody(body: Buffer, facts: BodyFacts): RequestBody {
  if (body.length === 0) throw noBody(facts);
  // Decoding would silently replace invalid sequences, and change the request.
  if (!isUtf8(body)) throw new GatewayError("invalid_request", "The request body is not valid UTF-8.");
  const parse = () => checkObject(parseJson(body.toString("utf8"), facts), facts);
  const outline = boundedOutline(body, facts.interface === "embeddings" ? EMBEDDINGS_BOUNDS : REQUEST_BOUNDS);
  if (outline.text === body) return parsedBody(body, parse());
  const parsed = parseObject(outline.text.toString("utf8"));
  // Parsing the complete text reports the position.
  return parsed === null ? parsedBody(body, parse()) : createRequestBody({ bytes: body, outline, parsed, parse });
}

function boundedOutline(body: Buffer, bounds: Bounds): Outline {
  try {
    return outlineOf(body, bounds);
  } catch (error) {
    if (error instanceof ExcessiveStructure) throw tooMuchStructure(error);
    if (error instanceof ExcessiveOutline)
      throw new GatewayError(
        "request_too_large",
        `The request body has more than ${MAX_OUTLINE_BYTES / 1024 / 1024} MiB outside of its long strings. Send fewer or longer messages, and less white space.`,
      );
    throw error;
  }
}

function checkObject(json: unknown, facts: BodyFacts): JsonObject {
  if (isObject(json)) return json;
  const remedy = typeof json === "string" ? " It is JSON text inside a string: encode it once." : "";
  throw new GatewayError("invalid_request", `The request body must be a JSON object with ${members(facts)}.${remedy}`);
}

function parseJson(text: string, facts: BodyFacts): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const position = error instanceof Error ? /position (\d+)/.exec(error.message)?.[1] : undefined;
    const where = position === undefined ? "" : ` near character ${position}`;
    throw new GatewayError("invalid_request", `The request body is not valid JSON${where}.${remedyFor(text, facts)}`);
  }
}

function noBody(facts: BodyFacts): GatewayError {
  const wanted =
    facts.form === undefined ? `a JSON object with ${members(facts)}` : `a form with ${FORM_RULES[facts.form].members}`;
  return new GatewayError("invalid_request", `The request has no body. Send ${wanted}.`);
}

function members({ interface: name }: BodyFacts): string {
  return MEMBERS[name];
}

const MEMBERS = {
  chat: "`model` and `messages`",
  messages: "`model` and `messages`",
  responses: "`model` and `input`",
  embeddings: "`model` and `input`",
  rerank: "`model`, `query` and `documents`",
  image_generation: "`model` and `prompt`",
  speech: "`model`, `input` and `voice`",
  transcription: "`model` and `file`",
} as const satisfies Record<Interface, string>;

/** The apparent format of the text, and how to send it as JSON. */
function remedyFor(text: string, { headers }: BodyFacts): string {
  if (text.startsWith("\u{FEFF}")) return " It begins with a byte order mark: save it as UTF-8 without one.";
  const start = text.slice(0, 200).trimStart();
  const type = headers.get("content-type")?.split(";")[0]?.trim().toLowerCase() ?? "";
  if (start.startsWith("@")) return " It begins with `@`: the name of a file was sent instead of its content.";
  if (/^\{\s*'/.test(start) || /^\{\s*\w+\s*:/.test(start)) return " JSON requires double quotation marks, around names too.";
  if (type === "multipart/form-data" || start.startsWith("--"))
    return " Forms are not supported: send JSON with `content-type: application/json`.";
  if (type === "application/x-www-form-urlencoded" && /^[\w%.+[\]-]+=/.test(start))
    return " Forms are not supported: send JSON with `content-type: application/json`.";
  return "";
}
