import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { checkWholeAnswer } from "../answer-bounds.ts";
import { isObject } from "../json/object.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../upstream-error.ts";

/** A response from a server that speaks Responses: complete, or as far as an event has it. */
export interface ResponsesAnswer {
  /** Empty where the server gave none. */
  id: string;
  status: string;
  /** Why it is incomplete; null if it is complete, or if no reason is given. */
  reason: string | null;
  output: readonly unknown[];
  /** The server's `usage`, unchanged. */
  usage: unknown;
}

const text = z.string().nullish().catch(null);

const responseSchema = z.object({
  id: text,
  status: text,
  incomplete_details: z.object({ reason: text }).nullish().catch(null),
  output: z.array(z.unknown()),
  usage: z.unknown().optional(),
});

/** @throws GatewayError `upstream_error` when it is not a response; the upstream's own error when it holds one. */
export function readAnswer(response: unknown, reader: ErrorReader): ResponsesAnswer {
  // Some servers send their error with a 200; a failed response holds its own.
  if (isObject(response) && (isObject(response["error"]) || response["object"] === "error" || response["type"] === "error"))
    throw readUpstreamErrorPayload(response, reader);
  if (isObject(response)) checkWholeAnswer(response);
  const parsed = responseSchema.safeParse(response);
  if (!parsed.success)
    throw new GatewayError("upstream_error", "The model server's answer is not a response.", { cause: parsed.error });
  const { id, status, incomplete_details: details, output, usage } = parsed.data;
  return { id: id ?? "", status: status ?? "completed", reason: details?.reason ?? null, output, usage };
}
