import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { checkWholeAnswer } from "../answer-bounds.ts";
import { isObject } from "../json/object.ts";
import { rawMember, scanElements } from "../json/scan.ts";
import { parseUpstreamJson } from "../json/upstream-json.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../upstream-error.ts";
import { parseBlock, type AnswerBlock } from "./answer-block.ts";

/** A complete message from an upstream that speaks messages. */
export interface MessagesAnswer {
  /** Empty where the server gave none. */
  id: string;
  content: AnswerBlock[];
  stopReason: string | null;
  stopSequence: string | null;
  /** Why the model refused, if it did and gave a reason. */
  explanation: string | null;
  /** The server's `usage`, unchanged. */
  usage: unknown;
}

const text = z.string().nullish().catch(null);

const answerSchema = z.object({
  id: text,
  content: z.array(z.unknown()),
  stop_reason: text,
  stop_sequence: text,
  stop_details: z.object({ explanation: text }).nullish().catch(null),
  usage: z.unknown().optional(),
});

/** @throws GatewayError `upstream_error` when the body is not a message; the upstream's own error when it is one. */
export function parseAnswer(body: Buffer, reader: ErrorReader): MessagesAnswer {
  const json = parseUpstreamJson(body.toString("utf8"));
  // Some servers send their error with a 200.
  if (json["type"] === "error" || isObject(json["error"])) throw readUpstreamErrorPayload(json, reader);
  checkWholeAnswer(json);
  const parsed = answerSchema.safeParse(json);
  if (!parsed.success)
    throw new GatewayError("upstream_error", "The model server's answer is not a message.", { cause: parsed.error });
  const raw = scanElements(rawMember(body, "content") ?? Buffer.alloc(0));
  const content = parsed.data.content.map((block, index) => parseBlock(block, raw[index] ?? Buffer.alloc(0)));
  if (content.every(({ type }) => type === "other") && parsed.data.content.some(isForeign))
    throw new GatewayError("upstream_error", "The model server's answer has none of the content blocks of a message.");
  return {
    id: parsed.data.id ?? "",
    content,
    stopReason: parsed.data.stop_reason || null,
    stopSequence: parsed.data.stop_sequence ?? null,
    explanation: parsed.data.stop_details?.explanation ?? null,
    usage: parsed.data.usage,
  };
}

/** Blocks of the server's own tools have a type and no text from the model. */
function isForeign(block: unknown): boolean {
  if (!isObject(block) || typeof block["type"] !== "string") return true;
  return typeof block["text"] === "string" && block["text"] !== "";
}
