import { GatewayError } from "../../../contract/errors.ts";
import { exceptionStatus } from "../../protocol/aws-error.ts";
import { EVENT_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { editMembers, remove } from "../../protocol/json/splice.ts";
import { encodeSseEvent } from "../../protocol/sse.ts";
import type { StreamTranslation } from "../translation.ts";
import { createEventStreamReader, type EventStreamMessage } from "./event-stream.ts";

const NOTHING = Buffer.alloc(0);
const OPEN_BRACE = 123;

/** Added to the last event: the request's figures in the operator's own account. */
const FIGURES = "amazon-bedrock-invocationMetrics";

/**
 * Bedrock's stream, for a translation that reads Anthropic's: each message of the event stream holds one event.
 * @param stream gets the events as server-sent ones.
 */
export function fromEventStream(stream: StreamTranslation): StreamTranslation {
  const reader = createEventStreamReader();
  let isDocument: boolean | undefined;

  function push(chunk: Buffer): Buffer | "unchanged" {
    // Nothing that follows an ending is read.
    if (chunk.length === 0 || stream.outcome() !== "open") return NOTHING;
    // A complete answer to a stream request. As a message, it would be of two gigabytes.
    isDocument ??= chunk[0] === OPEN_BRACE;
    return isDocument ? stream.push(chunk) : read(chunk);
  }

  /** An error comes after the events before it. */
  function read(chunk: Buffer): Buffer {
    const events: Buffer[] = [];
    try {
      reader.push(chunk, (message) => events.push(toEvent(message)));
    } catch (thrown) {
      if (!(thrown instanceof GatewayError)) throw thrown;
      const passed = pass(Buffer.concat(events));
      return stream.outcome() === "open" ? Buffer.concat([passed, stream.fail(thrown)]) : passed;
    }
    return pass(Buffer.concat(events));
  }

  function pass(events: Buffer): Buffer {
    if (events.length === 0) return NOTHING;
    const passed = stream.push(events);
    return passed === "unchanged" ? events : passed;
  }

  return { ...stream, push, heldBytes: () => reader.heldBytes() + stream.heldBytes() };
}

/** @throws GatewayError `upstream_error` for an event that cannot be read: passed unread, it would not be metered. */
function toEvent({ headers, payload }: EventStreamMessage): Buffer {
  switch (headers.get(":message-type") ?? "") {
    case "event":
      return headers.get(":event-type") === "chunk" ? chunkEvent(payload) : NOTHING;
    case "exception":
      return errorEvent(headers.get(":exception-type"), messageIn(payload));
    case "error":
      return errorEvent(headers.get(":error-code"), headers.get(":error-message") ?? "");
    default:
      return NOTHING;
  }
}

function chunkEvent(payload: Buffer): Buffer {
  const event = Buffer.from(textOf(rawMember(payload, "bytes")), "base64");
  if (event.length === 0) throw new GatewayError("upstream_error", "The model server sent an event without content.");
  const type = /^"([a-z_]{1,64})"$/.exec(rawMember(event, "type")?.toString("latin1") ?? "")?.[1] ?? null;
  const shown = type === "message_stop" ? editMembers(event, { [FIGURES]: remove }) : event;
  return Buffer.from(encodeSseEvent(type, shown.toString("utf8")));
}

function textOf(member: Buffer | undefined): string {
  try {
    const text: unknown = JSON.parse(member?.toString("utf8") ?? '""');
    return typeof text === "string" ? text : "";
  } catch {
    // The caller reports an event without content.
    return "";
  }
}

/** In a form that names its status, from which the error is worded for the client. */
function errorEvent(name: string | undefined, message: string): Buffer {
  const status = exceptionStatus(name ?? "") ?? 500;
  return Buffer.from(encodeSseEvent("error", JSON.stringify({ error: { status, message } })));
}

function messageIn(payload: Buffer): string {
  try {
    const json = parseWithin(payload, EVENT_BOUNDS);
    return isObject(json) && typeof json["message"] === "string" ? json["message"] : "";
  } catch {
    // Its name remains.
    return "";
  }
}
