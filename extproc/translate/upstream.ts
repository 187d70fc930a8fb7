import { HEADERS, MESSAGES_VERSION } from "../../contract/headers.ts";
import { UPSTREAM_PATHS, type Protocol } from "../../contract/protocol.ts";
import { createAnswerReader as createChatReader } from "./chat/read-answer.ts";
import { writeRequest as writeChatRequest } from "./chat/write-request.ts";
import type { AnswerReader, ReadAnswerContext } from "./conversation/answer.ts";
import type { ReadRequest } from "./conversation/conversation.ts";
import { createAnswerReader as createMessagesReader } from "./messages/read-answer.ts";
import { writeRequest as writeMessagesRequest } from "./messages/write-request.ts";
import { createAnswerReader as createResponsesReader } from "./responses/read-answer.ts";
import { writeRequest as writeResponsesRequest } from "./responses/write-request.ts";
import type { Translation, TranslationInput } from "./translation.ts";

/** A server's requests, and how its answers are read. */
interface UpstreamSide {
  sent: Translation["upstream"];
  createReader(context: ReadAnswerContext): AnswerReader;
}

/** How each protocol's servers are asked and read. @throws GatewayError `invalid_request` (S21). */
export const UPSTREAMS = {
  chat(request, input) {
    const { body, names } = writeChatRequest(request, input);
    const { profile } = input.backend;
    const { name: thinker } = input.model;
    return {
      sent: { path: UPSTREAM_PATHS.chat, body, headers: {} },
      createReader: (context) => createChatReader({ ...context, profile, thinker, names }),
    };
  },
  messages(request, input) {
    const { body, names, answerTool } = writeMessagesRequest(request, input);
    const isUsageInclusive = input.backend.profile.usageInclusive;
    return {
      sent: { path: UPSTREAM_PATHS.messages, body, headers: { [HEADERS.version]: MESSAGES_VERSION } },
      createReader: (context) => createMessagesReader({ ...context, isUsageInclusive, names, answerTool }),
    };
  },
  responses(request, input) {
    const { body, names } = writeResponsesRequest(request, input);
    const { name: thinker } = input.model;
    return {
      sent: { path: UPSTREAM_PATHS.responses, body, headers: {} },
      createReader: (context) => createResponsesReader({ ...context, thinker, names }),
    };
  },
} as const satisfies Record<Protocol, (request: ReadRequest, input: TranslationInput) => UpstreamSide>;
