import { encodeJson, type Encodable } from "../json/raw.ts";
import { encodeSseEvent } from "../sse.ts";

/**
 * An event of a Responses stream, with members as their server wrote them. Line breaks of indented JSON occur only between its
 * tokens, and would break the event into lines.
 */
export function encodeRawEvent(type: string, sequenceNumber: number, members: Readonly<Record<string, Encodable>>): string {
  const data = encodeJson({ type, sequence_number: sequenceNumber, ...members });
  return encodeSseEvent(type, data.replaceAll(/[\r\n]+/g, " "));
}
