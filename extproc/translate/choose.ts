import type { Interface } from "../../contract/protocol.ts";
import { createChatViaMessages } from "./chat-via-messages/chat-via-messages.ts";
import { createMessagesViaChat } from "./messages-via-chat/messages-via-chat.ts";
import { createChatPassthrough } from "./passthrough/chat.ts";
import { createMessagesPassthrough } from "./passthrough/messages.ts";
import { createResponses } from "./responses/responses.ts";
import type { Translation, TranslationInput } from "./translation.ts";

/**
 * The translation between what the client speaks and what the backend speaks.
 * @throws GatewayError `invalid_request` that names the field which is wrong or cannot be translated (S21).
 */
export function createTranslation(client: Interface, input: TranslationInput): Translation {
  const upstream = input.backend.protocol;
  switch (client) {
    case "chat":
      return upstream === "chat" ? createChatPassthrough(input) : createChatViaMessages(input);
    case "messages":
      return upstream === "messages" ? createMessagesPassthrough(input) : createMessagesViaChat(input);
    case "responses":
      return createResponses(input);
  }
}
