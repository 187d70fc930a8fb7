import type { Interface } from "../../contract/protocol.ts";
import { GatewayError } from "../../contract/errors.ts";
import { scanMembers } from "../protocol/json/scan.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { stringsIn } from "./strings.ts";

/** What a guardrail reads of a request. */
export interface CheckedText {
  /** Its place in the request, such as `messages[2]`. */
  field: string;
  text: string;
}

/** Hooks judge each text by itself: in longer conversations, neighbours become one. */
export const MAX_TEXTS = 512;

/** Members that no model reads. All others are checked, those that the gateway does not know among them. */
const NOT_READ: ReadonlySet<string> = new Set([
  "conversation",
  "metadata",
  "model",
  "previous_response_id",
  "prompt_cache_key",
  "safety_identifier",
  "service_tier",
  "stream",
  "user",
]);

/** Members whose elements are texts of their own. */
const TURNS: ReadonlySet<string> = new Set(["messages", "input", "documents"]);

/**
 * All text of a request that a model may read, a text for each turn: prompts, tools, arguments and results. Read from the bytes: of
 * members that appear twice, servers read the first or the last one. Inline pictures, sound and files are left out.
 * @throws GatewayError `invalid_request` for malformed strings, and for token ids in place of text.
 */
export function textsOf(body: RequestBody, client: Interface): CheckedText[] {
  if (body.form !== undefined) return formTexts(body);
  if (client === "embeddings") refuseTokenIds(body);
  try {
    return joinNeighbours(bodyTexts(body.bytes));
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    // Reading all of it reports the position.
    body.whole();
    throw error;
  }
}

/** The texts of a form; its files are sound or pictures. */
function formTexts(body: RequestBody): CheckedText[] {
  return Object.entries(body.outline)
    .filter(([name]) => !NOT_READ.has(name))
    .flatMap(([field, value]) => {
      const text = [value]
        .flat()
        .filter((each) => typeof each === "string")
        .join("\n");
      return text === "" ? [] : [{ field, text }];
    });
}

function bodyTexts(json: Buffer): CheckedText[] {
  return scanMembers(json).flatMap(({ name, value }) => {
    if (NOT_READ.has(name)) return [];
    const { whole, elements } = stringsIn(json, name, value);
    if (!TURNS.has(name) || elements === null) return toText(name, whole);
    return elements.flatMap((strings, at) => toText(`${name}[${at}]`, strings));
  });
}

function toText(field: string, strings: readonly string[]): CheckedText[] {
  const text = strings.join("\n").trim();
  return text === "" ? [] : [{ field, text }];
}

function joinNeighbours(texts: CheckedText[]): CheckedText[] {
  if (texts.length <= MAX_TEXTS) return texts;
  const size = Math.ceil(texts.length / MAX_TEXTS);
  return Array.from({ length: Math.ceil(texts.length / size) }, (_, at) => {
    const part = texts.slice(at * size, (at + 1) * size);
    return { field: part[0]?.field.replace(/\[.*/, "") ?? "", text: part.map(({ text }) => text).join("\n") };
  });
}

/** Only the server that made them knows what they say. */
function refuseTokenIds(body: RequestBody): void {
  const { input } = body.outline;
  if (typeof input === "string") return;
  if (Array.isArray(input) && input.every((each) => typeof each === "string" || isText(each))) return;
  throw new GatewayError("invalid_request", "`input` must be text: this model's requests are checked, and token ids cannot be.", {
    field: "input",
  });
}

/** Inputs with pictures are objects. */
function isText(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
