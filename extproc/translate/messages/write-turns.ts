import type { RawJson } from "../../protocol/json/raw.ts";
import type { ClientWords, Omitted } from "../conversation/conversation.ts";
import { messagesToolId } from "../conversation/ids.ts";
import type { ToolNames } from "../conversation/names.ts";
import { isSealed } from "../conversation/sealed-reasoning.ts";
import { systemReminder } from "../conversation/system-reminder.ts";
import type {
  Block,
  DocumentBlock,
  ImageBlock,
  InlineData,
  ResultBlock,
  TextBlock,
  ToolInput,
  ToolResultBlock,
  Turn,
} from "../conversation/turn.ts";
import { cacheMember, type Block as WireBlock, type WireTurn } from "./wire-block.ts";

export interface TurnsContext {
  names: ToolNames;
  /** May a turn of role system follow a user's turn (profile flag `systemTurns`)? Otherwise its text joins the user's. */
  takesSystemTurns: boolean;
  words: ClientWords;
  omitted: Omitted;
}

/** Each run of turns between two of the other side becomes one. */
export function writeTurns(turns: readonly Turn[], context: TurnsContext): WireTurn[] {
  const written: WireTurn[] = [];
  for (let start = 0; start < turns.length;) {
    const isAssistant = turns[start]?.role === "assistant";
    let end = start + 1;
    while (end < turns.length && (turns[end]?.role === "assistant") === isAssistant) end += 1;
    const run = turns.slice(start, end);
    if (isAssistant) written.push({ role: "assistant", content: run.flatMap(({ content }) => writeBlocks(content, context)) });
    else written.push(...writeUserRun(run, context));
    start = end;
  }
  trimPrefill(written);
  return written;
}

/** A server that accepts system turns accepts them only after the user's text, one at a time. */
function writeUserRun(run: readonly Turn[], context: TurnsContext): WireTurn[] {
  const blocks = run.flatMap(({ role, content }) => writeBlocks(content, context).map((block) => ({ role, block })));
  const lastOfUser = blocks.findLastIndex(({ role }) => role === "user");
  const systemStart = context.takesSystemTurns && lastOfUser >= 0 ? lastOfUser + 1 : blocks.length;
  const before = blocks.slice(0, systemStart).map(({ role, block }) => (role === "system" ? asReminder(block) : block));
  const last = blocks.slice(systemStart).map(({ block }) => block);
  return [
    ...(before.length > 0 ? [{ role: "user" as const, content: before }] : []),
    ...(last.length > 0 ? [{ role: "system" as const, content: last }] : []),
  ];
}

export function writeText({ text, cache }: TextBlock): WireBlock {
  return { type: "text", text, ...cacheMember(cache) };
}

function writeBlocks(blocks: readonly Block[], context: TurnsContext): WireBlock[] {
  return blocks.flatMap((block) => writeBlock(block, context));
}

function writeBlock(block: Block, context: TurnsContext): WireBlock[] {
  const { names, words, omitted } = context;
  switch (block.type) {
    case "text":
    case "image":
    case "document":
      noteDetail(block, context);
      return [writeShown(block)];
    case "tool_call":
      return [
        { type: "tool_use", id: messagesToolId(block.id), name: names.toUpstream(block.name), input: writeInput(block.input) },
      ];
    case "tool_result":
      for (const inner of block.content) noteDetail(inner, context);
      return [writeResult(block)];
    case "thinking":
      // A messages server rejects the whole conversation for one signature that is not its own.
      if (block.signature !== null && !isSealed(block.signature))
        return [{ type: "thinking", thinking: block.text, signature: block.signature }];
      omitted.content.add(words.thinking);
      return [];
    case "redacted_thinking":
      return [{ type: "redacted_thinking", data: block.data }];
  }
}

/** Messages has no levels of detail. */
function noteDetail(block: ResultBlock, { words, omitted }: TurnsContext): void {
  if (block.type === "image" && block.detail !== null) omitted.content.add(words.imageDetail);
}

function writeShown(block: ResultBlock): WireBlock {
  switch (block.type) {
    case "text":
      return writeText(block);
    case "image":
      return { type: "image", source: imageSource(block.source), ...cacheMember(block.cache) };
    case "document":
      return {
        type: "document",
        source: documentSource(block.source),
        ...(block.title === null ? {} : { title: block.title }),
        ...(block.context === null ? {} : { context: block.context }),
        ...cacheMember(block.cache),
      };
  }
}

function imageSource(source: ImageBlock["source"]): WireBlock {
  switch (source.kind) {
    case "data":
      return dataSource(source);
    case "url":
      return { type: "url", url: source.url };
  }
}

function documentSource(source: DocumentBlock["source"]): WireBlock {
  switch (source.kind) {
    case "data":
      return dataSource(source);
    case "url":
      return { type: "url", url: source.url };
    case "text":
      return { type: "text", media_type: "text/plain", data: source.text };
    case "blocks":
      return { type: "content", content: source.content.map(writeShown) };
  }
}

function dataSource({ mediaType, base64 }: InlineData): WireBlock {
  return { type: "base64", media_type: mediaType, data: base64 };
}

/** Messages accepts only objects: any other value is wrapped. */
function writeInput(input: ToolInput): WireBlock | RawJson {
  switch (input.kind) {
    case "json":
      return input.json;
    case "free_text":
      return { input: input.text };
    case "raw":
      return { _raw: input.text };
  }
}

/** Blocks inside a result have no cache mark of their own. */
function writeResult({ id, content, isError, cache }: ToolResultBlock): WireBlock {
  return {
    type: "tool_result",
    tool_use_id: messagesToolId(id),
    content: content.length === 0 ? undefined : content.map((block) => writeShown({ ...block, cache: null })),
    is_error: isError ? true : undefined,
    ...cacheMember(cache),
  };
}

/** A system message among the turns keeps its place: moving it to the head would change every later prompt cache. */
function asReminder(block: WireBlock): WireBlock {
  const text = typeof block["text"] === "string" ? block["text"] : "";
  return { ...block, text: systemReminder(text) };
}

/** An answer that the client began must not end in white space: messages rejects that. */
function trimPrefill(turns: WireTurn[]): void {
  const last = turns.at(-1);
  if (last?.role !== "assistant") return;
  const block = last.content.at(-1);
  if (typeof block?.["text"] === "string") last.content.splice(-1, 1, { ...block, text: block["text"].trimEnd() });
}
