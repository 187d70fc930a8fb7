import { GatewayError } from "../../../contract/errors.ts";
import { MESSAGES_VERSION } from "../../../contract/headers.ts";
import { UPSTREAM_PATHS } from "../../../contract/protocol.ts";
import type { Meter } from "../../meter/meter.ts";
import { eventsOf, parseEvent } from "../../protocol/messages/answer-event.ts";
import { parseAnswer } from "../../protocol/messages/answer.ts";
import { createSseParser, type SseEvent } from "../../protocol/sse.ts";
import { createBodySniffer } from "../../protocol/body-sniffer.ts";
import type { StreamTranslation, Translation, TranslationInput } from "../translation.ts";
import { translateAnswer, type AnswerContext } from "./answer.ts";
import { translateRequest } from "./request.ts";
import { createAnswerMachine } from "./stream.ts";

/**
 * A chat client, a messages upstream.
 * @throws GatewayError `invalid_request` that names the field which is wrong or cannot be translated (S21).
 */
export function createChatViaMessages(input: TranslationInput): Translation {
  const request = translateRequest(input);
  const context: AnswerContext = {
    facts: request.answer,
    requestId: input.requestId,
    nowSeconds: input.nowSeconds,
    isUsageInclusive: input.backend.profile.usageInclusive,
  };
  return {
    upstream: { path: UPSTREAM_PATHS.messages, body: request.body, headers: { "anthropic-version": MESSAGES_VERSION } },
    dropped: request.dropped,
    wantsStream: request.wantsStream,
    response: (body, meter) => translateAnswer(body, meter, context),
    stream: (meter) => createStream(meter, context),
  };
}

function createStream(meter: Meter, context: AnswerContext): StreamTranslation {
  const parser = createSseParser();
  const machine = createAnswerMachine(meter, context);
  // Some servers answer a stream request with the whole message.
  const sniffer = createBodySniffer();

  function accept(events: ReturnType<typeof parser.push>): string {
    return events.map((event) => toText(event)).join("");
  }

  function toText(event: SseEvent): string {
    // What follows an ending need not even be well-formed.
    if (machine.outcome() !== "open") return "";
    try {
      const parsed = parseEvent(event);
      return parsed === null ? "" : machine.accept(parsed);
    } catch (thrown) {
      // Thrown on, it would take the good events of the same chunk along.
      if (thrown instanceof GatewayError) return machine.fail(thrown);
      throw thrown;
    }
  }

  return {
    push: (chunk) => Buffer.from(accept(parser.push(sniffer.push(chunk)))),
    end() {
      const json = sniffer.json();
      const text =
        json === null
          ? accept(parser.end())
          : eventsOf(parseAnswer(Buffer.from(json)))
              .map(machine.accept)
              .join("");
      return Buffer.from(text + machine.end());
    },
    fail: (error) => Buffer.from(machine.fail(error)),
    stopForCredit: () => Buffer.from(machine.stopForCredit()),
    isEnding: () => machine.outcome() !== "open",
    outcome: () => machine.outcome(),
  };
}
