import { encodeError, ERRORS, type GatewayError } from "../../contract/errors.ts";
import { dialectOf, type Interface } from "../../contract/protocol.ts";
import { encodeMessagesErrorEvent } from "./messages/encode-event.ts";
import { encodeSseEvent } from "./sse.ts";

/** The event that ends a stream of this interface with an error, whatever came before it (S22). */
export function encodeErrorEvent(client: Interface, error: GatewayError, requestId: string): string {
  if (client === "responses") {
    const { code } = ERRORS[error.code].chat;
    const data = { type: "error", sequence_number: 0, code, message: error.message, param: error.field };
    return encodeSseEvent("error", JSON.stringify(data));
  }
  switch (dialectOf(client)) {
    case "chat":
      return encodeSseEvent(null, JSON.stringify(encodeError("chat", error, requestId)));
    case "messages":
      return encodeMessagesErrorEvent(error, requestId);
  }
}
