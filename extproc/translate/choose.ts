import type { Backend } from "../../contract/catalogue.ts";
import type { Platform } from "../../contract/platform.ts";
import { isInputInterface, type Interface, type Protocol } from "../../contract/protocol.ts";
import type { Meter } from "../meter/meter.ts";
import { providerOf } from "../route/provider-key.ts";
import { CLIENTS } from "./client.ts";
import type { ReadAnswerContext } from "./conversation/answer.ts";
import { createChatPassthrough } from "./passthrough/chat.ts";
import { createInputPassthrough } from "./passthrough/input.ts";
import { createMessagesPassthrough } from "./passthrough/messages.ts";
import { createResponsesPassthrough } from "./passthrough/responses.ts";
import { createSpeechPassthrough } from "./passthrough/speech.ts";
import { createTranscriptionPassthrough } from "./passthrough/transcription.ts";
import { onBedrock } from "./platform/bedrock.ts";
import { onVertex } from "./platform/vertex.ts";
import { createStream, translateWhole } from "./stream-driver.ts";
import type { Translation, TranslationInput } from "./translation.ts";
import { UPSTREAMS } from "./upstream.ts";

/** For a client and a server of one protocol, whose bytes pass unchanged. */
const PASSTHROUGHS = {
  chat: createChatPassthrough,
  messages: createMessagesPassthrough,
  responses: createResponsesPassthrough,
} as const satisfies Record<Protocol, (input: TranslationInput) => Translation>;

/** For servers of the messages protocol that a cloud runs. */
const ON_PLATFORMS = { bedrock: onBedrock, vertex: onVertex } as const satisfies Record<
  Platform,
  (translation: Translation, backend: Backend) => Translation
>;

/**
 * The translation between the client's protocol and the backend's.
 * @throws GatewayError `invalid_request` that names the field that is invalid or cannot be translated (S21).
 */
export function createTranslation(client: Interface, input: TranslationInput): Translation {
  if (client === "speech") return createSpeechPassthrough(input);
  if (client === "transcription") return createTranscriptionPassthrough(input);
  if (isInputInterface(client)) return createInputPassthrough(client, input);
  const { protocol, platform } = input.backend;
  const translation = client === protocol ? PASSTHROUGHS[protocol](input) : translate(client, input);
  return platform === undefined ? translation : ON_PLATFORMS[platform](translation, input.backend);
}

function translate(client: Protocol, input: TranslationInput): Translation {
  const { request, writer, usedCallIds } = CLIENTS[client](input);
  const { conversation, omitted } = request;
  const { sent, createReader } = UPSTREAMS[input.backend.protocol](request, input);
  const facts: Omit<ReadAnswerContext, "meter"> = {
    requestId: input.requestId,
    client,
    modelNames: {
      upstream: input.backend.upstreamModel,
      client: conversation.model,
      provider: providerOf(input.backend),
    },
    stopSequences: conversation.wishes.stop.sequences,
    usedCallIds,
  };
  const open = (meter: Meter) => createReader({ ...facts, meter });
  return {
    upstream: sent,
    dropped: omitted.names(),
    wantsStream: conversation.wantsStream,
    response: (body, meter) => translateWhole(body, open(meter), writer),
    stream: (meter) => createStream(open(meter), writer.stream()),
  };
}
