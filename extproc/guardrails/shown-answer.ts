import type { GatewayError } from "../../contract/errors.ts";
import type { Protocol } from "../../contract/protocol.ts";
import { NO_USAGE, type Usage } from "../../contract/usage.ts";
import { createChunkEncoder, type AnswerHead } from "../protocol/chat/encode.ts";
import { encodeErrorEvent } from "../protocol/error-event.ts";
import { isObject, type JsonObject } from "../protocol/json/object.ts";
import { encodeMessagesEvent } from "../protocol/messages/encode-event.ts";
import { encodeMessagesUsage } from "../protocol/messages/encode-usage.ts";
import { createResponseSoFar } from "../translate/passthrough/response-so-far.ts";
import { objectsIn } from "../translate/readable-output.ts";

/** The part of a stream that its client has, and how it ends if the rest is withheld. */
export interface ShownAnswer {
  /** An event has come that the client may not get. */
  arrived(json: JsonObject): void;
  /** The client gets it. @throws GatewayError `upstream_error` for more than any answer has. */
  shown(json: JsonObject, data: string): void;
  /** The protocol's own end for an answer that a filter stopped: SDKs read it, and retry nothing. */
  refused(usage: Usage, explanation: string): string;
  /** The end of an answer that failed (S22). */
  failed(error: GatewayError): string;
}

export interface ShownAnswerStart {
  requestId: string;
  /** The name that the client asked for. */
  model: string;
  /** Of a chat client. */
  wantsUsage: boolean;
}

export function createShownAnswer(client: Protocol, start: ShownAnswerStart): ShownAnswer {
  return SHOWN[client](start);
}

const SHOWN = {
  chat: createShownCompletion,
  messages: createShownMessage,
  responses: createShownResponse,
} as const satisfies Record<Protocol, (start: ShownAnswerStart) => ShownAnswer>;

function createShownCompletion({ requestId, model, wantsUsage }: ShownAnswerStart): ShownAnswer {
  let head: AnswerHead = { id: "", created: 0, model };
  /** Is it finished? By index. */
  const choices = new Map<number, boolean>();

  return {
    arrived({ id, created }) {
      head = { ...head, ...(typeof id === "string" ? { id } : {}), ...(typeof created === "number" ? { created } : {}) };
    },
    shown(json) {
      for (const { index, finish_reason: reason } of objectsIn(json["choices"])) {
        const key = typeof index === "number" ? index : 0;
        choices.set(key, choices.get(key) === true || typeof reason === "string");
      }
    },
    refused(usage) {
      const encoder = createChunkEncoder(head, wantsUsage);
      const open = choices.size === 0 ? [0] : [...choices].filter(([, isFinished]) => !isFinished).map(([index]) => index);
      const finishes = open.map((index) => encoder.finish({ finishReason: "content_filter", stopSequence: null }, index));
      return finishes.join("") + (wantsUsage ? encoder.usage(usage) : "") + encoder.done();
    },
    failed: (error) => encodeErrorEvent("chat", error, requestId),
  };
}

function createShownMessage({ requestId, model }: ShownAnswerStart): ShownAnswer {
  let id = "";
  let isStarted = false;
  const openBlocks = new Set<number>();

  function begin(): string {
    if (isStarted) return "";
    const usage = encodeMessagesUsage({ ...NO_USAGE });
    return encodeMessagesEvent({
      type: "message_start",
      message: { id, type: "message", role: "assistant", model, content: [], stop_reason: null, stop_sequence: null, usage },
    });
  }

  return {
    arrived({ type, message }) {
      if (type === "message_start" && isObject(message) && typeof message["id"] === "string") id = message["id"];
    },
    shown({ type, index }) {
      if (type === "message_start") isStarted = true;
      if (typeof index !== "number") return;
      if (type === "content_block_start") openBlocks.add(index);
      if (type === "content_block_stop") openBlocks.delete(index);
    },
    refused(usage, explanation) {
      const stops = [...openBlocks].map((index) => encodeMessagesEvent({ type: "content_block_stop", index }));
      const end = encodeMessagesEvent({
        type: "message_delta",
        delta: { stop_reason: "refusal", stop_sequence: null, stop_details: { type: "refusal", category: null, explanation } },
        usage: encodeMessagesUsage(usage),
      });
      return begin() + stops.join("") + end + encodeMessagesEvent({ type: "message_stop" });
    },
    failed: (error) => encodeErrorEvent("messages", error, requestId),
  };
}

function createShownResponse(): ShownAnswer {
  // Events are as the client reads them: nothing is to be edited.
  const soFar = createResponseSoFar(null);
  return {
    arrived() {},
    shown: soFar.read,
    refused: (usage) => soFar.incomplete(usage, "content_filter"),
    failed: soFar.failed,
  };
}
