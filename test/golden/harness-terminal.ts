import type { Protocol } from "../../contract/protocol.ts";
import { createSseParser, type SseEvent } from "../../extproc/protocol/sse.ts";
import { isObject } from "../../extproc/protocol/json/object.ts";

/** How a client's stream ended: "clean", "error", or what is wrong with it. */
export type Ending = "clean" | "error" | "nothing" | "events after the end";

/** Reads a stream as the client would, and says how it ends: by exactly one terminal sequence. */
export function readEnding(client: Protocol, text: string): Ending {
  const parser = createSseParser();
  const events = [...parser.push(Buffer.from(text)), ...parser.end()];
  const terminals = events.map((event) => terminalOf(client, event));
  const first = terminals.findIndex((terminal) => terminal !== null);
  if (first < 0) return "nothing";
  const rest = terminals.slice(first + 1);
  const isOneEnding = rest.length === 0 || (terminals[first] === "error" && rest.join() === BEHIND_ERROR[client]);
  return isOneEnding ? (terminals[first] ?? "nothing") : "events after the end";
}

/** What may stand behind an error: a chat server's [DONE], and the response that failed, for clients that wait for one. */
const BEHIND_ERROR: Readonly<Record<Protocol, string | null>> = { chat: "clean", messages: null, responses: "error" };

function terminalOf(client: Protocol, event: SseEvent): "clean" | "error" | null {
  if (event.data.trim() === "[DONE]") return client === "chat" ? "clean" : null;
  const data: unknown = JSON.parse(event.data);
  if (!isObject(data)) return null;
  switch (client) {
    case "chat":
      return data["error"] === undefined || data["error"] === null ? null : "error";
    case "messages":
      if (data["type"] === "message_stop") return "clean";
      return data["type"] === "error" ? "error" : null;
    case "responses":
      if (data["type"] === "error" || data["type"] === "response.failed") return "error";
      return data["type"] === "response.completed" || data["type"] === "response.incomplete" ? "clean" : null;
  }
}
