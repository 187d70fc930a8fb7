import type { Protocol } from "../../contract/protocol.ts";
import { createAnswerWriter as createChatWriter } from "./chat/write-answer.ts";
import { readRequest as readChatRequest } from "./chat/read-request.ts";
import type { AnswerWriter } from "./conversation/answer.ts";
import type { ReadRequest } from "./conversation/conversation.ts";
import { messagesToolId } from "./conversation/ids.ts";
import type { Turn } from "./conversation/turn.ts";
import { readRequest as readMessagesRequest } from "./messages/read-request.ts";
import { createAnswerWriter as createMessagesWriter } from "./messages/write-answer.ts";
import { readRequest as readResponsesRequest } from "./responses/read-request.ts";
import { createAnswerWriter as createResponsesWriter } from "./responses/write-answer.ts";
import type { TranslationInput } from "./translation.ts";

/** A client's request, and the way back to it. */
interface ClientSide {
  request: ReadRequest;
  writer: AnswerWriter;
  /** Ids of calls that the client has seen. */
  usedCallIds: ReadonlySet<string>;
}

/** How each interface's requests are read and answered. @throws GatewayError `invalid_request` (S21). */
export const CLIENTS = {
  chat(input) {
    const { asked, ...request } = readChatRequest(input);
    const writer = createChatWriter({ ...answered(request, input), asked });
    return { request, writer, usedCallIds: callIdsIn(request.conversation.turns) };
  },
  messages(input) {
    const { callIds, ...request } = readMessagesRequest(input);
    return { request, writer: createMessagesWriter(answered(request, input)), usedCallIds: callIds };
  },
  responses(input) {
    const { asked, ...request } = readResponsesRequest(input);
    const { nowSeconds, secondsNow = () => nowSeconds } = input;
    const writer = createResponsesWriter({ ...answered(request, input), secondsNow, asked });
    return { request, writer, usedCallIds: callIdsIn(request.conversation.turns) };
  },
} as const satisfies Record<Protocol, (input: TranslationInput) => ClientSide>;

/** Standalone: the writer of an answer must not retain the prompt. */
function answered({ conversation: { model } }: ReadRequest, { requestId, nowSeconds }: TranslationInput) {
  return { model, requestId, nowSeconds };
}

function callIdsIn(turns: readonly Turn[]): Set<string> {
  return new Set(
    turns.flatMap(({ content }) => content.flatMap((block) => (block.type === "tool_call" ? [messagesToolId(block.id)] : []))),
  );
}
