import * as z from "zod";
import { nonEmpty } from "../json/non-empty.ts";

/** Content blocks of a messages request: checked where the gateway reads them, unknown members left out. */

/** An object taken by reference, unchanged: schemas and tool inputs pass through untouched. */
export const anyObject = z.custom<Readonly<Record<string, unknown>>>(isObject, { error: "an object" });

const text = z.string({ error: "a string" });

/** Members that blocks of every type may carry; only their presence matters. */
const marks = { cache_control: z.unknown().optional(), citations: z.unknown().optional() };

const textBlock = z.object({ type: z.literal("text", { error: "text" }), text, ...marks }, { error: "a text block" });

const imageSource = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("base64"), media_type: nonEmpty, data: nonEmpty }),
    z.object({ type: z.literal("url"), url: nonEmpty }),
    z.object({ type: z.literal("file"), file_id: text }),
  ],
  { error: "an image source of type base64, url or file" },
);
const imageBlock = z.object({ type: z.literal("image"), source: imageSource, ...marks });

const documentContent = z.preprocess(
  oneText,
  z.array(z.discriminatedUnion("type", [textBlock, imageBlock], { error: "a block of type text or image" }), {
    error: "a string or an array of text and image blocks",
  }),
);
const documentSource = z.discriminatedUnion(
  "type",
  [
    z.object({ type: z.literal("base64"), media_type: nonEmpty, data: nonEmpty }),
    z.object({ type: z.literal("text"), data: text }),
    z.object({ type: z.literal("content"), content: documentContent }),
    z.object({ type: z.literal("url"), url: nonEmpty }),
    z.object({ type: z.literal("file"), file_id: text }),
  ],
  { error: "a document source of type base64, text, content, url or file" },
);
const documentBlock = z.object({
  type: z.literal("document"),
  source: documentSource,
  title: text.nullish(),
  context: text.nullish(),
  ...marks,
});

const searchResultBlock = z.object({
  type: z.literal("search_result"),
  source: text,
  title: text,
  content: z.array(textBlock, { error: "an array of text blocks" }),
  ...marks,
});

const toolReferenceBlock = z.object({ type: z.literal("tool_reference"), tool_name: text, ...marks });

const toolUseBlock = z.object({ type: z.literal("tool_use"), id: nonEmpty, name: nonEmpty, input: anyObject, ...marks });

const resultBlock = z.discriminatedUnion("type", [textBlock, imageBlock, documentBlock, searchResultBlock, toolReferenceBlock], {
  error: "a block of type text, image, document, search_result or tool_reference",
});
const toolResultBlock = z.object({
  type: z.literal("tool_result"),
  tool_use_id: nonEmpty,
  content: z.preprocess(
    oneText,
    z.array(resultBlock, { error: "a string or an array of content blocks" }).nullish().transform(orEmpty),
  ),
  is_error: z.boolean({ error: "true or false" }).nullish(),
  ...marks,
});

const thinkingBlock = z.object({ type: z.literal("thinking"), thinking: text, signature: text.nullish(), ...marks });
const redactedThinkingBlock = z.object({ type: z.literal("redacted_thinking"), data: text, ...marks });

/** What a server-side tool of the messages protocol did in an earlier turn. */
const SERVER_TOOL_USES = ["server_tool_use", "mcp_tool_use"] as const;
const serverToolUseBlock = z.object({
  type: z.literal(SERVER_TOOL_USES),
  id: text,
  name: text,
  input: z.unknown().optional(),
  ...marks,
});
const SERVER_TOOL_RESULTS = [
  "web_search_tool_result",
  "web_fetch_tool_result",
  "code_execution_tool_result",
  "bash_code_execution_tool_result",
  "text_editor_code_execution_tool_result",
  "tool_search_tool_result",
  "advisor_tool_result",
  "mcp_tool_result",
] as const;
const serverToolResultBlock = z.object({
  type: z.literal(SERVER_TOOL_RESULTS),
  tool_use_id: text,
  content: z.unknown().optional(),
  ...marks,
});

const compactionBlock = z.object({ type: z.literal("compaction"), content: text.nullish(), ...marks });
/** Notes of the messages service to itself. */
const BOOKKEEPING = ["fallback", "tool_addition", "tool_removal", "mcp_tool_listing", "browser_state"] as const;
const bookkeepingBlock = z.object({
  type: z.literal(BOOKKEEPING),
  /** Of a tool_addition: one of `tools`, or the definition of another. */
  tool: z.unknown().optional(),
  ...marks,
});
const containerUploadBlock = z.object({ type: z.literal("container_upload"), file_id: text, ...marks });

const block = z.discriminatedUnion(
  "type",
  [
    textBlock,
    imageBlock,
    documentBlock,
    searchResultBlock,
    toolReferenceBlock,
    toolUseBlock,
    toolResultBlock,
    thinkingBlock,
    redactedThinkingBlock,
    serverToolUseBlock,
    serverToolResultBlock,
    compactionBlock,
    bookkeepingBlock,
    containerUploadBlock,
  ],
  { error: "a content block of a known type, for example text, image, document, tool_use, tool_result or thinking" },
);

/** A message's content: a string counts as one text block. */
export const contentSchema = z.preprocess(oneText, z.array(block, { error: "a string or an array of content blocks" }));

/** `system`: a string counts as one text block, an empty one as none. */
export const systemSchema = z.preprocess(
  (value) => (value === "" ? [] : oneText(value)),
  z.array(textBlock, { error: "a string or an array of text blocks" }).nullish().transform(orEmpty),
);

export type Block = z.infer<typeof block>;
export type BlockOf<Type extends Block["type"]> = Extract<Block, { type: Type }>;
export type ImageBlock = z.infer<typeof imageBlock>;
export type DocumentBlock = z.infer<typeof documentBlock>;
export type ResultBlock = z.infer<typeof resultBlock>;
export type ToolResultBlock = z.infer<typeof toolResultBlock>;
export type ServerToolUseBlock = z.infer<typeof serverToolUseBlock>;
export type ServerToolResultBlock = z.infer<typeof serverToolResultBlock>;
export type BookkeepingBlock = z.infer<typeof bookkeepingBlock>;

export function isServerToolUse(block: Block): block is ServerToolUseBlock {
  return SERVER_TOOL_USES.some((type) => type === block.type);
}

export function isServerToolResult(block: Block): block is ServerToolResultBlock {
  return SERVER_TOOL_RESULTS.some((type) => type === block.type);
}

export function isBookkeeping(block: Block): block is BookkeepingBlock {
  return BOOKKEEPING.some((type) => type === block.type);
}

function oneText(value: unknown): unknown {
  return typeof value === "string" ? [{ type: "text", text: value }] : value;
}

function orEmpty<Item>(items: Item[] | null | undefined): Item[] {
  return items ?? [];
}

function isObject(value: unknown): boolean {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
