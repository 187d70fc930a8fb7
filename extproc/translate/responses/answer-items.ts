import type { Meter } from "../../meter/meter.ts";
import { checkBlocks } from "../../protocol/answer-bounds.ts";
import { callWithoutName } from "../../protocol/broken-answer.ts";
import { parseItem, partsOf, toCitation, type AnswerItem, type AnswerItemOf } from "../../protocol/responses/answer-item.ts";
import type { AnswerEvent, GrowthEvent } from "../conversation/answer-event.ts";
import { createObjectScan, type ObjectScan } from "../conversation/object-scan.ts";
import { createToolCallIds } from "../conversation/tool-call-ids.ts";
import type { ToolNames } from "../conversation/names.ts";
import { sealReasoning } from "../conversation/sealed-reasoning.ts";

/** The items of one answer on their way into blocks. */
export interface AnswerItems {
  begin(item: number, written: unknown): AnswerEvent[];
  addText(position: PartPosition, delta: string): AnswerEvent[];
  cite(position: PartPosition, annotation: unknown): AnswerEvent[];
  think(position: ThoughtPosition, delta: string): AnswerEvent[];
  addArguments(item: number, delta: string): AnswerEvent[];
  /** The whole text of a part, or of a call's arguments, of which no piece came before. */
  fillText(position: PartPosition, text: string): AnswerEvent[];
  fillArguments(item: number, text: string): AnswerEvent[];
  /** The item in its final form: content missing from its events is filled in. Further calls add nothing. */
  finish(item: number, written: unknown): AnswerEvent[];
  /** Closes what is open. */
  end(): AnswerEvent[];
  hasRefusal(): boolean;
  hasCalls(): boolean;
}

interface PartPosition {
  kind: "text" | "refusal";
  item: number;
  part: number;
}

interface ThoughtPosition {
  /** Servers show the thinking, or a summary of it; some show both. */
  source: "summary" | "content";
  item: number;
  part: number;
}

export interface AnswerItemsContext {
  meter: Meter;
  names: ToolNames;
  thinker: string;
  requestId: string;
  usedCallIds: ReadonlySet<string>;
}

type OpenItem = OpenMessage | OpenThought | OpenCall | { type: "over" };

interface OpenMessage {
  type: "message";
  /** Blocks by their part's position. */
  parts: Map<number, { index: number; isCited: boolean }>;
}

interface OpenThought {
  type: "reasoning";
  index: number | null;
  /** The kind that came first is shown; its last part with content. */
  shown: { source: ThoughtPosition["source"]; part: number } | null;
}

interface OpenCall {
  type: "function_call";
  index: number;
  hasArguments: boolean;
  arguments: ObjectScan;
}

export function createAnswerItems({ meter, names, thinker, requestId, usedCallIds }: AnswerItemsContext): AnswerItems {
  const ids = createToolCallIds({ requestId, used: usedCallIds });
  const items = new Map<number, OpenItem>();
  let nextIndex = 0;
  let hasRefusal = false;
  let hasCalls = false;

  function put(item: number, open: OpenItem): void {
    items.set(item, open);
    // Items that open no block take up memory, too.
    checkBlocks(items.size);
  }

  function begin(item: number, written: unknown): AnswerEvent[] {
    const parsed = parseItem(written);
    // A name that is missing may still come with the whole item.
    return parsed?.type === "function_call" && parsed.name && !items.has(item) ? openCall(item, parsed).events : [];
  }

  function openCall(item: number, { name, call_id: callId, id }: AnswerItemOf<"function_call">) {
    if (!name) throw callWithoutName();
    hasCalls = true;
    const index = takeIndex();
    const call: OpenCall = { type: "function_call", index, hasArguments: false, arguments: createObjectScan() };
    put(item, call);
    const block = { type: "tool_call", id: ids.next(callId || id || ""), name: names.toClient(name) } as const;
    return { call, events: [{ type: "open", index, block }] satisfies AnswerEvent[] };
  }

  function addText({ kind, item, part }: PartPosition, delta: string): AnswerEvent[] {
    if (delta === "") return [];
    hasRefusal ||= kind === "refusal";
    const { index, events } = openPart({ kind, item, part });
    return index === null ? [] : [...events, grow(kind, index, delta)];
  }

  function openPart({ kind, item, part }: PartPosition): { index: number | null; events: AnswerEvent[] } {
    const message = items.get(item) ?? { type: "message", parts: new Map() };
    if (message.type !== "message") return { index: null, events: [] };
    put(item, message);
    const known = message.parts.get(part);
    if (known !== undefined) return { index: known.index, events: [] };
    const index = takeIndex();
    message.parts.set(part, { index, isCited: false });
    return { index, events: [{ type: "open", index, block: { type: kind } }] };
  }

  function cite({ item, part }: PartPosition, annotation: unknown): AnswerEvent[] {
    const citations = toCitation(annotation);
    const message = items.get(item);
    const open = message?.type === "message" ? message.parts.get(part) : undefined;
    if (open === undefined || citations.length === 0) return [];
    open.isCited = true;
    return [{ type: "citations", index: open.index, citations }];
  }

  function think({ source, item, part }: ThoughtPosition, delta: string): AnswerEvent[] {
    const thought = items.get(item) ?? { type: "reasoning", index: null, shown: null };
    if (delta === "" || thought.type !== "reasoning") return [];
    put(item, thought);
    if (thought.shown !== null && thought.shown.source !== source) return [];
    const separator = thought.shown !== null && thought.shown.part !== part ? "\n\n" : "";
    thought.shown = { source, part };
    const { index, events } = openThought(thought);
    return [...events, grow("thinking", index, separator + delta)];
  }

  function openThought(thought: OpenThought): { index: number; events: AnswerEvent[] } {
    if (thought.index !== null) return { index: thought.index, events: [] };
    const index = takeIndex();
    thought.index = index;
    return { index, events: [{ type: "open", index, block: { type: "thinking" } }] };
  }

  function addArguments(item: number, delta: string): AnswerEvent[] {
    const call = items.get(item);
    if (call?.type !== "function_call" || delta === "") return [];
    call.hasArguments = true;
    const text = call.arguments.take(delta);
    const grown = text === "" ? [] : [grow("arguments", call.index, text)];
    if (!call.arguments.isClosed()) return grown;
    // Nothing more can belong to it, and its server may end it much later.
    put(item, { type: "over" });
    return [...grown, ...close(call)];
  }

  function fillText(position: PartPosition, text: string): AnswerEvent[] {
    const message = items.get(position.item);
    const isBegun = message?.type === "message" && message.parts.has(position.part);
    return isBegun ? [] : addText(position, text);
  }

  function fillArguments(item: number, text: string): AnswerEvent[] {
    const call = items.get(item);
    return call?.type === "function_call" && !call.hasArguments ? addArguments(item, text) : [];
  }

  function finish(item: number, written: unknown): AnswerEvent[] {
    if (items.get(item)?.type === "over") return [];
    const parsed = parseItem(written);
    const events = parsed === null ? [] : complete(item, parsed);
    const closed = close(items.get(item));
    put(item, { type: "over" });
    return [...events, ...closed];
  }

  function complete(item: number, parsed: AnswerItem): AnswerEvent[] {
    switch (parsed.type) {
      case "message":
        return completeMessage(item, partsOf(parsed));
      case "reasoning":
        return completeThought(item, parsed);
      case "function_call":
        return completeCall(item, parsed);
    }
  }

  function completeMessage(item: number, parts: ReturnType<typeof partsOf>): AnswerEvent[] {
    const message = items.get(item);
    const begun = message?.type === "message" ? [...message.parts.keys()].toSorted((left, right) => left - right) : [];
    // vLLM counts the parts on from item to item.
    const positions = begun.length === parts.length ? begun : [...parts.keys()];
    return parts.flatMap((part, at) => (part === null ? [] : completePart(item, positions[at] ?? at, part)));
  }

  function completePart(item: number, part: number, { kind, text, citations }: NonNullable<ReturnType<typeof partsOf>[number]>) {
    const message = items.get(item);
    const open = message?.type === "message" ? message.parts.get(part) : undefined;
    const added = open === undefined ? addText({ kind, item, part }, text) : [];
    if (open?.isCited === true || citations.length === 0) return added;
    const { index, events } = openPart({ kind, item, part });
    return index === null ? added : [...added, ...events, { type: "citations", index, citations } as const];
  }

  function completeThought(item: number, { id, summary, content, encrypted_content: encrypted }: AnswerItemOf<"reasoning">) {
    const events: AnswerEvent[] = [];
    const thought = items.get(item);
    if (thought === undefined || (thought.type === "reasoning" && thought.shown === null)) {
      const source = summary?.some(({ text }) => text !== "") ? "summary" : "content";
      const parts = (source === "summary" ? summary : content) ?? [];
      for (const [part, { text }] of parts.entries()) events.push(...think({ source, item, part }, text));
    }
    return encrypted ? [...events, ...sign(item, { id: id ?? "", encrypted })] : events;
  }

  /** Thinking that is not shown can still be sent back. */
  function sign(item: number, { id, encrypted }: { id: string; encrypted: string }): AnswerEvent[] {
    const thought = items.get(item) ?? { type: "reasoning", index: null, shown: null };
    if (thought.type !== "reasoning") return [];
    put(item, thought);
    const { index, events } = openThought(thought);
    return [...events, { type: "signature", index, signature: sealReasoning({ model: thinker, id, encrypted }) }];
  }

  function completeCall(item: number, parsed: AnswerItemOf<"function_call">): AnswerEvent[] {
    const known = items.get(item);
    const { call, events } = known?.type === "function_call" ? { call: known, events: [] } : openCall(item, parsed);
    if (call.hasArguments) return events;
    const text = parsed.arguments || "{}";
    call.hasArguments = true;
    // A call without arguments contains no text.
    return [...events, text === "{}" ? { type: "arguments", index: call.index, text } : grow("arguments", call.index, text)];
  }

  function close(item: OpenItem | undefined): AnswerEvent[] {
    switch (item?.type) {
      case "message":
        return [...item.parts.values()].map(({ index }) => ({ type: "close", index }));
      case "reasoning":
        return item.index === null ? [] : [{ type: "close", index: item.index }];
      case "function_call":
        return [{ type: "close", index: item.index }];
      case "over":
      case undefined:
        return [];
    }
  }

  function grow(type: GrowthEvent["type"], index: number, text: string): AnswerEvent {
    meter.produced(text);
    return { type, index, text };
  }

  function takeIndex(): number {
    nextIndex += 1;
    return nextIndex - 1;
  }

  return {
    begin,
    addText,
    cite,
    think,
    addArguments,
    fillText,
    fillArguments,
    finish,
    end() {
      const closed = [...items.values()].flatMap(close);
      for (const item of items.keys()) put(item, { type: "over" });
      return closed;
    },
    hasRefusal: () => hasRefusal,
    hasCalls: () => hasCalls,
  };
}
