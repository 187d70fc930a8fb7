import { GatewayError } from "../../../contract/errors.ts";
import type { Profile } from "../../../contract/profile.ts";
import type { Meter } from "../../meter/meter.ts";
import { editMembers, write } from "../../protocol/json/splice.ts";
import { eventsOf, parseEvent } from "../../protocol/messages/answer-event.ts";
import { parseAnswer } from "../../protocol/messages/answer.ts";
import { createSseParser, type SseEvent } from "../../protocol/sse.ts";
import { createMessagesViaChat } from "../messages-via-chat/messages-via-chat.ts";
import { createMessagesPassthrough } from "../passthrough/messages.ts";
import type { StreamOutcome, StreamTranslation, Translation, TranslationInput } from "../translation.ts";
import { createAnswerMachine, type AnswerMachine } from "./answer-machine.ts";
import { inRequestWords } from "./dropped-fields.ts";
import { inRoughWords } from "./field-words.ts";
import { translateRequest } from "./request.ts";

/**
 * A Responses client, an upstream of either protocol: the request is written in messages' words, whose blocks are what
 * Responses calls items, and goes on from there as a messages client's would (docs/decisions/0014).
 *
 * @throws GatewayError `invalid_request` that names the field which is wrong or cannot be translated (S21).
 */
export function createResponses(input: TranslationInput): Translation {
  const request = translateRequest(input);
  const messagesInput = { ...input, body: request.body, headers: new Map<string, string>() };
  const inner = inRoughWords(() =>
    input.backend.protocol === "chat" ? createMessagesViaChat(messagesInput) : createMessagesPassthrough(messagesInput),
  );
  const createMachine = (meter: Meter) =>
    createAnswerMachine({
      facts: request.answer,
      requestId: input.requestId,
      nowSeconds: input.nowSeconds,
      usage: () => meter.final().usage,
    });
  return {
    upstream: request.wantsJsonObject ? askForJson(inner.upstream, input.backend.profile) : inner.upstream,
    dropped: [...new Set([...request.dropped, ...inner.dropped.map(inRequestWords)])],
    wantsStream: request.wantsStream,
    response: (body, meter) => translateAnswer(inner.response(body, meter), createMachine(meter)),
    stream(meter) {
      const within: StreamTranslation = inner.stream(countWhile(meter, () => within.outcome() === "open"));
      return createStream(within, createMachine(meter));
    },
  };
}

/** What a server sends behind its ending passes to a messages client; of this one's stream it is no part. */
function countWhile(meter: Meter, isOpen: () => boolean): Meter {
  return {
    ...meter,
    produced: (text) => void (isOpen() && meter.produced(text)),
    producedBytes: (bytes, characters) => void (isOpen() && meter.producedBytes(bytes, characters)),
  };
}

function askForJson(upstream: Translation["upstream"], { jsonSchema }: Profile): Translation["upstream"] {
  if (jsonSchema !== "native" && jsonSchema !== "json_object") return upstream;
  return { ...upstream, body: editMembers(upstream.body, { response_format: write({ type: "json_object" }) }) };
}

/** @throws GatewayError `upstream_error` when the body is no message; the upstream's own error when it is one. */
function translateAnswer(message: Buffer, machine: AnswerMachine): Buffer {
  for (const event of eventsOf(parseAnswer(message))) machine.accept(event);
  return machine.response();
}

/** Reads the bytes of a messages stream, and writes those of a Responses stream. */
function createStream(inner: StreamTranslation, machine: AnswerMachine): StreamTranslation {
  const parser = createSseParser();
  let ownOutcome: StreamOutcome | undefined;

  function read(bytes: Buffer): string {
    return parser.push(bytes).map(toText).join("");
  }

  function toText(event: SseEvent): string {
    // What follows an ending need not even be well-formed.
    if (machine.hasEnded()) return "";
    try {
      const parsed = parseEvent(event);
      if (parsed === null) return "";
      return parsed.type === "error" && inner.outcome() === "truncated" ? machine.fail(cutOff()) : machine.accept(parsed);
    } catch (thrown) {
      // Thrown on, it would take the good events of the same chunk along.
      if (!(thrown instanceof GatewayError)) throw thrown;
      ownOutcome = "failed";
      return machine.fail(thrown);
    }
  }

  return {
    push(chunk) {
      const bytes = inner.push(chunk);
      return Buffer.from(read(bytes === "unchanged" ? chunk : bytes));
    },
    end() {
      const text = read(inner.end()) + parser.end().map(toText).join("");
      if (machine.hasEnded()) return Buffer.from(text);
      ownOutcome = "truncated";
      return Buffer.from(text + machine.fail(cutOff()));
    },
    fail(error) {
      inner.fail(error);
      ownOutcome ??= "failed";
      return Buffer.from(machine.fail(error));
    },
    stopForCredit: () => Buffer.from(read(inner.stopForCredit())),
    isEnding: () => inner.isEnding() || machine.hasEnded(),
    outcome: () => ownOutcome ?? inner.outcome(),
  };
}

function cutOff(): GatewayError {
  return new GatewayError("upstream_error", "The model server's answer ended before it was complete. Try again.");
}
