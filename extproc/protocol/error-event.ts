import { encodeError, type GatewayError } from "../../contract/errors.ts";
import { dialectOf, type Interface } from "../../contract/protocol.ts";
import { encodeMessagesErrorEvent } from "./messages/encode-event.ts";
import { errorMembers } from "./responses/response.ts";
import { encodeSseEvent } from "./sse.ts";

/** The event that ends a stream of this interface with an error, whatever came before it (S22). */
export function encodeErrorEvent(client: Interface, error: GatewayError, requestId: string): string {
  if (client === "responses") {
    const data = { type: "error", sequence_number: 0, ...errorMembers(error) };
    return encodeSseEvent("error", JSON.stringify(data));
  }
  switch (dialectOf(client)) {
    case "chat":
      return encodeChatErrorEvent(error, requestId);
    case "messages":
      return encodeMessagesErrorEvent(error, requestId);
  }
}

/**
 * No `[DONE]` follows: a client that looks only for that would treat the answer as complete (S22). Some clients know an error by
 * the event's name alone, such as LangChain4j, and others only by a first line that begins with it, such as go-openai: hence the
 * name, and its place after the data.
 */
export function encodeChatErrorEvent(error: GatewayError, requestId: string): string {
  return `data: ${JSON.stringify(encodeError("chat", error, requestId))}\nevent: error\n\n`;
}
