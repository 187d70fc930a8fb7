import * as z from "zod";
import { ERRORS } from "../../contract/errors.ts";
import type { Interface } from "../../contract/protocol.ts";

const chatShape = z.strictObject({
  error: z.strictObject({
    message: z.string().min(1),
    type: z.string(),
    param: z.string().nullable(),
    code: z.string().nullable(),
  }),
});
const messagesShape = z.strictObject({
  type: z.literal("error"),
  error: z.strictObject({ type: z.string(), message: z.string().min(1) }),
  request_id: z.string().min(1),
});

/**
 * The codes of the documented errors that a refusal may be: messages has fewer words than the table has codes.
 * @throws where its body is not of the caller's shape.
 */
export function readRefusal(protocol: Interface, status: number, body: string): readonly string[] {
  const json: unknown = JSON.parse(body);
  const ofStatus = Object.entries(ERRORS).filter(([code, row]) => row.status === status || isOwnStatus(code, status, protocol));
  if (protocol === "messages") {
    const { error } = messagesShape.parse(json);
    return ofStatus.filter(([, { messages }]) => messages.type === error.type).map(([code]) => code);
  }
  const { error } = chatShape.parse(json);
  return ofStatus.filter(([, { chat }]) => chat.type === error.type && chat.code === error.code).map(([code]) => code);
}

/** A model server's 5xx keeps its number, and messages says 529 where it is overloaded (S22). */
function isOwnStatus(code: string, status: number, protocol: Interface): boolean {
  if (code === "upstream_unavailable" || code === "overloaded") return status === 529 && protocol === "messages";
  return code === "upstream_error" && status >= 500;
}
