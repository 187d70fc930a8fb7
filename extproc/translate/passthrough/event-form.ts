import { brokenOff } from "../../protocol/broken-answer.ts";
import { isCount } from "../../protocol/json/count.ts";
import { isGiven, isObject, type JsonObject } from "../../protocol/json/object.ts";
import { createBlockPositions } from "../../protocol/messages/block-positions.ts";
import { encodeMessagesEvent, messageStart, type BlockStart } from "../../protocol/messages/encode-event.ts";
import {
  editMembers,
  mergeEdits,
  within,
  withinObject,
  write,
  writeAll,
  type MemberEdit,
  type MemberEdits,
} from "../../protocol/json/splice.ts";
import { mergeUsage } from "../../protocol/messages/usage.ts";
import { NO_USAGE, type Usage } from "../../../contract/usage.ts";
import { encodeSseEvent, type SseEvent } from "../../protocol/sse.ts";
import {
  completeBlock,
  chargedCounts,
  completeMessage,
  createMessageCallIds,
  hidesCalls,
  isReason,
  missingMembers,
  ownMessageId,
  unsaidStop,
  writeUsage,
  type Counts,
  type MessageFacts,
} from "./message-form.ts";
import { createCallInputs } from "./call-inputs.ts";
import type { EventChange, EventEdit } from "./stream.ts";

/**
 * What clients' libraries require of the events of a messages stream, and some servers leave out or repeat. They keep blocks by
 * `index`: a piece of a block that never began is lost, or throws. At a second start of the message they throw, and a block that
 * ends twice is a tool that is called twice.
 */
export interface EventForm {
  /**
   * @param step the event, and its data with its type. @param counted by the gateway so far, for what the server does not report.
   * @returns an error in place of another message's start: its pieces would be added to those of the first.
   */
  complete(step: Step, counted: () => Usage): EventEdit;
  /** The ends of the blocks that have not ended. */
  closeBlocks(): string;
  /** Of a report and of inputs that wait for an end. */
  heldBytes(): number;
}

interface Step extends Pick<SseEvent, "data"> {
  json: JsonObject;
}

/** The blocks that need nothing but the text of their deltas. */
const BEGUN: ReadonlyMap<unknown, BlockStart> = new Map<unknown, BlockStart>([
  ["text_delta", { type: "text", text: "" }],
  ["thinking_delta", { type: "thinking", thinking: "", signature: "" }],
]);

/** The member of each kind of delta. */
const PIECES: ReadonlyMap<unknown, string> = new Map([
  ["text_delta", "text"],
  ["thinking_delta", "thinking"],
  ["signature_delta", "signature"],
  ["input_json_delta", "partial_json"],
]);

/** @param renamed what changes of every message; null for nothing. */
export function createEventForm(facts: MessageFacts, renamed: MemberEdits | null): EventForm {
  const startChange: EventChange | null = renamed === null ? null : { members: { message: within(renamed) } };
  const positions = createBlockPositions();
  const open = new Set<number>();
  const callId = createMessageCallIds(facts);
  const inputs = createCallInputs();
  let hasBegun = false;
  let id: unknown;
  let promptCounts: Counts = {};
  /** The usage that the client has by now. */
  let shown: JsonObject = {};
  let hasPromptCounts = false;
  let hasCalls = false;
  let stop: JsonObject | undefined;
  /** A report without a reason, until the end shows whether another one gives it. */
  let held: Step | undefined;

  function complete(step: Step, counted: () => Usage): EventEdit {
    const { json } = step;
    const { type } = json;
    if (type === "message_start") return hasBegun ? startAgain(json) : start(json);
    return (OF_A_MESSAGE.has(type) ? completeStep(step, counted) : null) ?? "keep";
  }

  function completeStep(step: Step, counted: () => Usage): EventChange | "hide" | null {
    const { json } = step;
    const { type } = json;
    if (type === "content_block_stop" && !isOpen(json)) return "hide";
    if (hasBegun && held === undefined && stop === undefined && isUnsaid(json)) {
      held = step;
      return "hide";
    }
    const lead = hasBegun ? "" : beginMessage();
    switch (type) {
      case "content_block_start":
        return withLead(lead, startBlock(step));
      case "content_block_delta":
        return extendBlock(json, lead);
      case "content_block_stop":
        return withLead(lead + endInput(json), stopBlock(json));
      case "message_delta":
        return withLead(lead + closeBlocks() + releaseHeld(counted), endMessage(json, counted));
      default:
        return withLead(lead + closeBlocks() + (stop === undefined ? endUnsaid(counted) : ""), null);
    }
  }

  function start({ message }: JsonObject): EventEdit {
    hasBegun = true;
    id = isObject(message) ? message["id"] : undefined;
    promptCounts = isObject(message) ? promptCountsIn(message["usage"]) : {};
    hasPromptCounts = Object.keys(promptCounts).length > 0;
    const begun = isObject(message) ? message : {};
    shown = mergeUsage(shown, begun["usage"]);
    const edits = mergeEdits(completeMessage(begun, facts, null), begun["stop_reason"] === "" ? writeAll(NO_STOP) : null);
    return edits === null ? (startChange ?? "keep") : { members: { message: withinObject({ ...renamed, ...edits }) } };
  }

  /** LiteLLM, Bifrost and Kimi begin one message twice. Behind a proxy that tries again, another one begins in its middle. */
  function startAgain({ message }: JsonObject): EventEdit {
    const isOther = isObject(message) && isGiven(id) && isGiven(message["id"]) && message["id"] !== id;
    return isOther ? brokenOff() : "hide";
  }

  function beginMessage(): string {
    hasBegun = true;
    return encodeMessagesEvent(messageStart({ id: ownMessageId(facts), model: facts.model, usage: NO_USAGE }));
  }

  function startBlock({ data, json: { index, content_block: block } }: Step): EventChange | null {
    const known = positions.find(index);
    const position = beginBlock(index);
    const isCall = isObject(block) && block["type"] === "tool_use";
    hasCalls ||= isCall;
    const hasInput = isCall && inputs.begin(position, data);
    const inside = isObject(block) ? mergeEdits(completeBlock(block, position, callId), hasInput ? NO_INPUT : null) : null;
    // Pieces with this number belong to another block from now on.
    const isSingular = hasInput || position !== index || (known !== undefined && known !== position);
    if (inside === null && !isSingular) return null;
    return { members: { ...numbered(index, position), ...(inside !== null && { content_block: within(inside) }) }, isSingular };
  }

  function beginBlock(index: unknown): number {
    const position = positions.begin(index);
    open.add(position);
    return position;
  }

  function extendBlock({ index, delta }: JsonObject, lead: string): EventChange | null {
    const kind = isObject(delta) ? delta["type"] : undefined;
    const missing = BEGUN.get(kind);
    let position = positions.find(index);
    let before = lead;
    if (missing !== undefined && (position === undefined || !open.has(position))) {
      before += closeBlocks();
      position = beginBlock(index);
      before += encodeMessagesEvent({ type: "content_block_start", index: position, content_block: missing });
    }
    const edits = { ...(position !== undefined && numbered(index, position)), ...completeDelta(delta, kind) };
    const change = Object.keys(edits).length === 0 ? null : { members: edits };
    // An empty piece has the form of those that take the input's place.
    const waits = position !== undefined && isObject(delta) && inputs.extend(position, delta["partial_json"]);
    return withLead(before, waits ? { members: edits, isSingular: true } : change);
  }

  function isOpen({ index }: JsonObject): boolean {
    const position = positions.find(index);
    return position !== undefined && open.has(position);
  }

  function endInput({ index }: JsonObject): string {
    const position = positions.find(index);
    return position === undefined ? "" : inputs.end(position);
  }

  function stopBlock({ index }: JsonObject): EventChange | null {
    const position = positions.find(index);
    if (position === undefined) return null;
    open.delete(position);
    return position === index ? null : { members: numbered(index, position) };
  }

  /** A later event that only reports usage would take back the reason: clients keep the latest. */
  function endMessage({ delta, usage }: JsonObject, counted: () => Usage): EventChange | null {
    const given = isObject(delta) ? delta : {};
    const { stop_reason: reason, stop_sequence: sequence } = given;
    const isHidden = hidesCalls(reason, hasCalls);
    if (isHidden) stop = unsaidStop(hasCalls);
    else if (typeof reason === "string" && reason !== "")
      stop = { stop_reason: reason, stop_sequence: typeof sequence === "string" ? sequence : null };
    const missing = isReason(reason) && !isHidden ? undefined : (stop ?? (reason === "" ? NO_STOP : undefined));
    const counts = endUsage(usage, counted);
    const edits = {
      ...(!isObject(delta) && { delta: write(missing ?? NO_STOP) }),
      ...(isObject(delta) && missing !== undefined && { delta: within(writeAll(missing)) }),
      ...(counts !== null && { usage: counts }),
    };
    return Object.keys(edits).length === 0 ? null : { members: edits };
  }

  /**
   * The end of a message whose server gives no reason for it: clients run tools only for the reason that says so. It is the server's
   * last report, if there is one, because LangChain adds the output of all.
   */
  function endUnsaid(counted: () => Usage): string {
    stop = unsaidStop(hasCalls);
    return held === undefined ? encodeEnd(NO_REPORT, counted) : releaseHeld(counted);
  }

  function releaseHeld(counted: () => Usage): string {
    const released = held;
    held = undefined;
    return released === undefined ? "" : encodeEnd(released, counted);
  }

  function encodeEnd({ data, json }: Step, counted: () => Usage): string {
    const edits = { type: write("message_delta"), ...endMessage(json, counted)?.members };
    return encodeSseEvent("message_delta", editMembers(Buffer.from(data), edits).toString("utf8"));
  }

  /** An event with a reason ends the message: the client keeps its counts. */
  function endUsage(usage: unknown, counted: () => Usage): MemberEdit | null {
    const missing = missingMembers(usage, missingCounts(usage, counted));
    shown = mergeUsage(mergeUsage(shown, usage), missing);
    const charged = stop === undefined ? null : chargedCounts(shown, counted());
    shown = mergeUsage(shown, charged);
    return writeUsage(usage, { ...missing, ...charged });
  }

  /**
   * Anthropic's counts at the end cover the prompt too, and LangChain reads no others. It adds those of several events: they are
   * given once.
   */
  function missingCounts(usage: unknown, counted: () => Usage): Counts {
    const isReported = isObject(usage) && isCount(usage["input_tokens"]);
    hasPromptCounts ||= isReported;
    // Of the event that ends the message, because an earlier one may precede the server's own count.
    const isUnknown = !hasPromptCounts && stop !== undefined;
    hasPromptCounts ||= isUnknown;
    const missing = isUnknown ? { input_tokens: () => counted().inputTokens } : promptCounts;
    promptCounts = {};
    return { output_tokens: () => counted().outputTokens, ...(!isReported && missing) };
  }

  /** Some servers never end a block. */
  function closeBlocks(): string {
    const closed = [...open].map((index) => inputs.end(index) + encodeMessagesEvent({ type: "content_block_stop", index }));
    open.clear();
    return closed.join("");
  }

  return { complete, closeBlocks, heldBytes: () => (held?.data.length ?? 0) + inputs.heldBytes() };
}

/** None of a server that counts the prompt only at the end: it begins with zeros. */
function promptCountsIn(usage: unknown): Counts {
  if (!isObject(usage)) return {};
  const counts = PROMPT_COUNTS.flatMap((name) => {
    const count = usage[name];
    return isCount(count) ? [{ name, count }] : [];
  });
  const hasSome = counts.some(({ count }) => count > 0);
  return hasSome ? Object.fromEntries(counts.map(({ name, count }) => [name, () => count])) : {};
}

const PROMPT_COUNTS = ["input_tokens", "cache_creation_input_tokens", "cache_read_input_tokens"] as const;

const OF_A_MESSAGE: ReadonlySet<unknown> = new Set([
  "content_block_start",
  "content_block_delta",
  "content_block_stop",
  "message_delta",
  "message_stop",
]);

const NO_INPUT: MemberEdits = { input: write({}) };

const NO_REPORT: Step = { data: "{}", json: {} };

function isUnsaid({ type, delta }: JsonObject): boolean {
  return type === "message_delta" && !(isObject(delta) && isReason(delta["stop_reason"]));
}

function withLead(missing: string, change: EventChange | null): EventChange | null {
  return missing === "" ? change : { members: change?.members ?? {}, missing, isSingular: true };
}

function numbered(index: unknown, position: number): MemberEdits {
  return index === position ? {} : { index: write(position) };
}

function completeDelta(delta: unknown, kind: unknown): MemberEdits | null {
  const name = PIECES.get(kind);
  if (name === undefined || !isObject(delta)) return null;
  const piece = delta[name];
  if (typeof piece === "string") return null;
  return { delta: within({ [name]: (written) => (isObject(piece) ? asText(written) : EMPTY_TEXT) }) };
}

const EMPTY_TEXT = Buffer.from('""');

function asText(written: Buffer | undefined): Buffer {
  return written === undefined ? EMPTY_TEXT : Buffer.from(JSON.stringify(written.toString("utf8")));
}

const NO_STOP = { stop_reason: null, stop_sequence: null };
