import { GatewayError } from "../../contract/errors.ts";
import { isObject, type JsonObject } from "./json/object.ts";

/**
 * How much of one answer the gateway reads and keeps, complete or streamed, in any protocol: each block takes time of the shared
 * event loop.
 */

/** Models call some dozens of tools at once. */
const MAX_CALLS = 4_096;
/** Text, thinking and calls; items and their parts. A call may have thinking and text before it. */
export const MAX_BLOCKS = 3 * MAX_CALLS;
/** As much as one event, or a complete answer, may have. */
export const MAX_KEPT_CHARACTERS = 32 * 1024 * 1024;

/** The current size of one answer. All of its methods throw GatewayError `upstream_error`. */
export interface AnswerSize {
  addBlock(): void;
  addCall(): void;
  /** Characters kept in memory; negative when they are released. */
  keep(characters: number): void;
}

export function createAnswerSize(): AnswerSize {
  let blocks = 0;
  let calls = 0;
  let kept = 0;

  function addBlock(): void {
    blocks += 1;
    checkBlocks(blocks);
  }

  return {
    addBlock,
    addCall() {
      calls += 1;
      checkCalls(calls);
      addBlock();
    },
    keep(characters) {
      kept += characters;
      if (kept > MAX_KEPT_CHARACTERS) throw new GatewayError("upstream_error", "The model server's answer is too large.");
    },
  };
}

export function checkCalls(calls: number): void {
  if (calls <= MAX_CALLS) return;
  throw new GatewayError("upstream_error", `The model server's answer has more than ${MAX_CALLS} tool calls.`);
}

export function checkBlocks(blocks: number): void {
  if (blocks <= MAX_BLOCKS) return;
  throw new GatewayError("upstream_error", `The model server's answer has more than ${MAX_BLOCKS} blocks.`);
}

/** For a complete answer in any protocol, before its blocks are processed. @throws GatewayError `upstream_error`. */
export function checkWholeAnswer({ choices, content, output }: JsonObject): void {
  const size = createAnswerSize();
  for (const choice of listOf(choices)) {
    size.addBlock();
    const message = isObject(choice) ? choice["message"] : null;
    if (!isObject(message)) continue;
    for (const _call of listOf(message["tool_calls"])) size.addCall();
    checkBlocks(listOf(message["content"]).length);
  }
  for (const block of listOf(content)) addTo(size, block);
  for (const item of listOf(output)) {
    addTo(size, item);
    if (isObject(item)) for (const _part of [listOf(item["content"]), listOf(item["summary"])].flat()) size.addBlock();
  }
}

function addTo(size: AnswerSize, block: unknown): void {
  if (isObject(block) && CALLS.has(block["type"])) size.addCall();
  else size.addBlock();
}

const CALLS: ReadonlySet<unknown> = new Set(["tool_use", "function_call", "custom_tool_call"]);

function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}
