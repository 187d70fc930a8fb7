import { UPSTREAM_PATHS } from "../../../contract/protocol.ts";
import type { Translation, TranslationInput } from "../translation.ts";
import type { AnswerContext } from "./answer-reader.ts";
import { translateRequest } from "./request.ts";
import { translateAnswer } from "./response.ts";
import { createMessagesStream } from "./stream.ts";

/**
 * A messages client in front of a chat upstream.
 * @throws GatewayError `invalid_request` that names the field, where the request is wrong or can't be translated (S21).
 */
export function createMessagesViaChat(input: TranslationInput): Translation {
  const { request, body, names, dropped } = translateRequest(input);
  const { profile } = input.backend;
  const wantsStream = request.stream === true;
  const context: AnswerContext = {
    model: request.model,
    modelNames: { upstream: input.backend.upstreamModel, client: request.model },
    requestId: input.requestId,
    names,
    usedToolIds: new Set(
      request.messages.flatMap(({ content }) => content.flatMap((block) => (block.type === "tool_use" ? [block.id] : []))),
    ),
    stopSequences: request.stop_sequences ?? [],
    reasoningExcluded: profile.reasoningExcluded,
    hasArgumentSnapshots: profile.argumentSnapshots,
  };
  return {
    upstream: { path: UPSTREAM_PATHS.chat, body, headers: {} },
    dropped,
    wantsStream,
    response: (answer, meter) => translateAnswer({ body: answer, context, meter, wantsStream }),
    stream: (meter) => createMessagesStream(context, meter),
  };
}
