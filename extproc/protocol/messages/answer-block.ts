import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { ANSWER_BOUNDS, parseWithin } from "../json/bounds.ts";
import { isObject } from "../json/object.ts";
import { rawMember } from "../json/scan.ts";

/** A content block of an upstream's answer. Blocks that cannot be shown to a chat client are "other". */
export type AnswerBlock =
  | { type: "text"; text: string; citations: Citation[] }
  | { type: "thinking"; thinking: string; signature: string }
  | { type: "redacted_thinking"; data: string }
  /** `input` is the JSON text as the server wrote it: big integers and member order survive. */
  | { type: "tool_use"; id: string; name: string; input: string }
  | { type: "other" };

export interface Citation {
  url: string;
  title: string | null;
}

const text = z.string().nullish();

export const citationSchema = z.object({ type: text, url: text, title: text });

const blockSchema = z.discriminatedUnion("type", [
  z.object({ type: z.literal("text"), text, citations: z.array(citationSchema).nullish() }),
  z.object({ type: z.literal("thinking"), thinking: text, signature: text }),
  z.object({ type: z.literal("redacted_thinking"), data: text }),
  z.object({ type: z.literal("tool_use"), id: text, name: z.string().min(1) }),
]);

const SHOWN: ReadonlySet<unknown> = new Set(["text", "thinking", "redacted_thinking", "tool_use"]);

/**
 * @param raw the same block as written.
 * @throws GatewayError `upstream_error` when a block that the client must get is malformed.
 */
export function parseBlock(block: unknown, raw: Buffer): AnswerBlock {
  // Work of the server's own tools (server_tool_use and its results) has no equivalent in chat.
  if (!SHOWN.has(typeOf(block))) return { type: "other" };
  const parsed = blockSchema.safeParse(block);
  if (!parsed.success)
    throw new GatewayError("upstream_error", "The model server sent a malformed content block.", { cause: parsed.error });
  switch (parsed.data.type) {
    case "text":
      return { type: "text", text: parsed.data.text ?? "", citations: (parsed.data.citations ?? []).flatMap(toCitation) };
    case "thinking":
      return { type: "thinking", thinking: parsed.data.thinking ?? "", signature: parsed.data.signature ?? "" };
    case "redacted_thinking":
      return { type: "redacted_thinking", data: parsed.data.data ?? "" };
    case "tool_use":
      return { type: "tool_use", id: parsed.data.id ?? "", name: parsed.data.name, input: inputText(rawMember(raw, "input")) };
  }
}

/** Citations that point at a page; those into the client's own documents have no chat form. */
export function toCitation({ url, title }: z.infer<typeof citationSchema>): Citation[] {
  return typeof url === "string" && url !== "" ? [{ url, title: title ?? null }] : [];
}

/** Some servers write the input as chat does, as the text of an object. @param written undefined if there is none. */
export function inputText(written: Buffer | undefined): string {
  const input = written?.toString("utf8") ?? "{}";
  if (input === "null" || input === '""') return "{}";
  const text: unknown = input.startsWith('"') ? JSON.parse(input) : null;
  return typeof text === "string" && isObjectText(text) ? text : input;
}

function isObjectText(text: string): boolean {
  try {
    return isObject(parseWithin(text, ANSWER_BOUNDS));
  } catch {
    return false;
  }
}

function typeOf(block: unknown): unknown {
  return typeof block === "object" && block !== null ? Reflect.get(block, "type") : undefined;
}
