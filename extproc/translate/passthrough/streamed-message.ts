import { GatewayError } from "../../../contract/errors.ts";
import { eventType } from "../../protocol/event-type.ts";
import { EVENT_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isGiven, isObject, textOf, type JsonObject } from "../../protocol/json/object.ts";
import { encodeJson, RawJson, type Encodable } from "../../protocol/json/raw.ts";
import { rawMembers } from "../../protocol/json/raw-members.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { createBlockPositions } from "../../protocol/messages/block-positions.ts";
import { encodeInput } from "../../protocol/messages/encode-message.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { brokenOff } from "../../protocol/broken-answer.ts";

type Members = Record<string, Encodable>;

/** A content block: its members as they arrived with its start, and the additions of its deltas. */
interface StreamedBlock {
  members: Map<string, Encodable>;
  texts: Map<string, string>;
  citations: RawJson[];
}

/** The member that each kind of delta extends. */
const GROWING: Readonly<Record<string, string>> = {
  text_delta: "text",
  thinking_delta: "thinking",
  input_json_delta: "partial_json",
  compaction_delta: "content",
};

/** The blocks that need nothing but the text of their deltas. */
const BEGUN: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
]);

/**
 * The message that a stream would have been, from servers that stream although JSON was requested. Members that the events do not
 * split stay as written.
 * @throws GatewayError `upstream_error` when the stream is cut off or is not a message; the upstream's own error when it holds
 * one.
 */
export function messageOf(events: readonly SseEvent[], reader: ErrorReader): Buffer {
  const message = new Map<string, Encodable>();
  const usage = new Map<string, Encodable>();
  let hasOutputCount = false;
  const blocks: StreamedBlock[] = [];
  const positions = createBlockPositions();
  for (const { event, data } of events) {
    const json = parseEvent(data);
    const written = Buffer.from(data);
    const type = eventType(json["type"], event);
    if (type === "error" || event === "error" || isObject(json["error"])) throw readUpstreamErrorPayload(json, reader);
    switch (type) {
      case "message_start": {
        const start = rawMember(written, "message") ?? NOTHING;
        message.clear();
        usage.clear();
        put(message, rawMembers(start));
        put(usage, rawMembers(rawMember(start, "usage") ?? NOTHING));
        break;
      }
      case "content_block_start": {
        const start = rawMember(written, "content_block") ?? NOTHING;
        begin(json["index"], startBlock(rawMembers(start), json["content_block"]));
        break;
      }
      case "content_block_delta":
        addDelta(blockOf(json), json["delta"], written);
        break;
      case "message_delta":
        // A later event that only reports usage takes back no reason.
        put(message, reportedIn(rawMembers(rawMember(written, "delta") ?? NOTHING), message));
        put(usage, named(rawMembers(rawMember(written, "usage") ?? NOTHING)));
        hasOutputCount ||= isObject(json["usage"]) && isGiven(json["usage"]["output_tokens"]);
        put(message, rawMembers(written, ["type", "delta", "usage"]));
        break;
      case "message_stop":
        // The count of the start is a placeholder.
        if (!hasOutputCount) usage.delete("output_tokens");
        return Buffer.from(encodeMessage());
    }
  }
  throw brokenOff();

  function blockOf(json: JsonObject): StreamedBlock | undefined {
    const position = positions.find(json["index"]);
    return position === undefined ? beginMissing(json) : blocks[position];
  }

  function begin(index: unknown, block: StreamedBlock): StreamedBlock {
    blocks[positions.begin(index)] = block;
    return block;
  }

  /** Some servers begin with a delta. */
  function beginMissing({ index, delta }: JsonObject): StreamedBlock | undefined {
    const type = isObject(delta) ? BEGUN.get(delta["type"]) : undefined;
    return type === undefined ? undefined : begin(index, startBlock({ type }, null));
  }

  function encodeMessage(): string {
    const content = blocks.map(encodeBlock);
    return encodeJson({ ...Object.fromEntries(message), content, usage: Object.fromEntries(usage) });
  }
}

const NOTHING = Buffer.alloc(0);

function parseEvent(data: string): JsonObject {
  // The protocol has no such line, but servers of both protocols end every stream with it.
  if (data.trim() === "[DONE]") return {};
  try {
    const json = parseWithin(data, EVENT_BOUNDS);
    if (isObject(json)) return json;
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent data that is not JSON.", { cause });
  }
  throw new GatewayError("upstream_error", "The model server sent data that is not a JSON object.");
}

function startBlock(members: Members, block: unknown): StreamedBlock {
  const texts = new Map<string, string>();
  for (const name of ["text", "thinking", "content"]) {
    const value = isObject(block) ? block[name] : undefined;
    if (typeof value === "string") texts.set(name, value);
  }
  return { members: new Map(Object.entries(members)), texts, citations: [] };
}

/** In place: a stream may have thousands of members. */
function put(into: Map<string, Encodable>, members: Members): void {
  for (const [name, value] of Object.entries(members)) into.set(name, value);
}

function addDelta(block: StreamedBlock | undefined, delta: unknown, written: Buffer): void {
  if (block === undefined || !isObject(delta)) return;
  const type = textOf(delta["type"]);
  const raw = rawMember(written, "delta");
  if (type === "signature_delta") putSignature(block.members, delta["signature"], raw);
  const citation = type === "citations_delta" ? rawMember(raw, "citation") : undefined;
  if (citation !== undefined) block.citations.push(new RawJson(citation.toString("utf8")));
  const name = Object.hasOwn(GROWING, type) ? GROWING[type] : undefined;
  const value = name === undefined ? undefined : delta[name];
  if (name !== undefined && typeof value === "string") block.texts.set(name, (block.texts.get(name) ?? "") + value);
}

/** An empty signature adds nothing to one that came before. */
function putSignature(members: Map<string, Encodable>, signature: unknown, raw: Buffer = NOTHING): void {
  const isEmpty = signature === "" || signature === null || signature === undefined;
  if (!isEmpty || !members.has("signature")) put(members, rawMembers(raw, ["type"]));
}

function encodeBlock({ members, texts, citations }: StreamedBlock): Encodable {
  const { partial_json: partialJson = "", ...grown } = Object.fromEntries(texts);
  return {
    ...Object.fromEntries(members),
    ...grown,
    ...(partialJson !== "" && { input: encodeInput(partialJson) }),
    ...(citations.length > 0 && { citations }),
  };
}

/** Neither null nor an empty text takes the place of a value. */
function reportedIn(members: Record<string, RawJson>, known: ReadonlyMap<string, Encodable>): Members {
  const isReported = ([name, { text }]: [string, RawJson]) => (text !== "null" && text !== '""') || !known.has(name);
  return Object.fromEntries(Object.entries(members).filter(isReported));
}

/** Null names nothing: usage is cumulative, and keeps an earlier event's values. */
function named(members: Record<string, RawJson>): Members {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value.text !== "null"));
}
