import type { GatewayError } from "../../../contract/errors.ts";
import type { Usage } from "../../../contract/usage.ts";
import { checkBlocks, createAnswerSize } from "../../protocol/answer-bounds.ts";
import { isObject, parseObject, type JsonObject } from "../../protocol/json/object.ts";
import { encodeJson, RawJson, type Encodable } from "../../protocol/json/raw.ts";
import { rawMembers } from "../../protocol/json/raw-members.ts";
import { rawMember } from "../../protocol/json/scan.ts";
import { editMembers, type MemberEdits } from "../../protocol/json/splice.ts";
import { encodeRawEvent } from "../../protocol/responses/raw-event.ts";
import { encodeError, encodeUsage, errorMembers } from "../../protocol/responses/response.ts";

/** The part received so far of a response whose stream the gateway may have to end itself. */
export interface ResponseSoFar {
  /** @throws GatewayError `upstream_error` for more items, or larger ones, than any answer has. */
  read(json: JsonObject, data: string): void;
  /** One of its items, by position. */
  item(position: number): JsonObject | undefined;
  /** Its items, as JSON. */
  output(): string;
  /** Its ending at the limit of output tokens, or where a filter stopped it. */
  incomplete(usage: Usage, reason: "max_output_tokens" | "content_filter"): string;
  /** Its ending if it failed: an event for clients that read events, the failed response for those that wait for one. */
  failed(error: GatewayError): string;
}

interface Item {
  /** As it began. */
  members: Record<string, RawJson>;
  /** As it ended; null while it is open. */
  done: RawJson | null;
  /** Its content while it is open. */
  parts: Map<string, { kind: string; text: string }>;
  /** Of its parts. */
  characters: number;
}

const NOTHING = Buffer.alloc(0);
/** The gateway's values for members that the server left out. */
const NO_RESPONSE: Record<string, RawJson> = { object: new RawJson('"response"') };

/** @param edits differences from the server's own response; null if there are none. */
export function createResponseSoFar(edits: MemberEdits | null): ResponseSoFar {
  let response = NO_RESPONSE;
  let next = 0;
  /** By position. */
  const items = new Map<number, Item>();
  const size = createAnswerSize();

  function read(json: JsonObject, data: string): void {
    if (typeof json["sequence_number"] === "number") next = json["sequence_number"] + 1;
    const { type } = json;
    if (type === "response.output_item.added" || type === "response.output_item.done") readItem(json, data);
    else if (typeof type === "string" && type.endsWith(".delta")) readDelta(json, type);
    else if (isObject(json["response"]))
      response = rawMembers(edited(rawMember(Buffer.from(data), "response") ?? NOTHING), ["output"]);
  }

  const edited = (response: Buffer): Buffer => (edits === null ? response : editMembers(response, edits));

  function readItem({ type, output_index: index }: JsonObject, data: string): void {
    const written = rawMember(Buffer.from(data), "item") ?? NOTHING;
    const isDone = type === "response.output_item.done";
    const position = positionOf(index);
    const known = items.get(position) ?? { members: rawMembers(written), done: null, parts: new Map(), characters: 0 };
    items.set(position, known);
    checkBlocks(items.size);
    size.keep(written.length);
    if (isDone) finish(known, written);
  }

  function finish(item: Item, written: Buffer): void {
    item.done = new RawJson(written.toString("utf8"));
    item.parts.clear();
    size.keep(-item.characters);
    item.characters = 0;
  }

  function readDelta(json: JsonObject, type: string): void {
    const { delta } = json;
    const item = items.get(positionOf(json["output_index"]));
    if (item === undefined || item.done !== null || typeof delta !== "string") return;
    const kind = KINDS.get(type);
    if (kind === undefined) return;
    const partIndex = json["content_index"] ?? json["summary_index"];
    const key = `${kind}/${typeof partIndex === "number" ? partIndex : 0}`;
    const part = item.parts.get(key) ?? { kind, text: "" };
    part.text += delta;
    if (!item.parts.has(key)) size.addBlock();
    item.parts.set(key, part);
    item.characters += delta.length;
    size.keep(delta.length);
  }

  const output = (): Encodable[] => [...items.values()].map(encodeItem);

  function ending(type: string, members: Record<string, Encodable>): string {
    return event(type, { response: { ...response, ...members, output: output() } });
  }

  function event(type: string, members: Record<string, Encodable>): string {
    next += 1;
    return encodeRawEvent(type, next - 1, members);
  }

  return {
    read,
    item(position) {
      const item = items.get(position);
      return item === undefined ? undefined : (parseObject(encodeJson(encodeItem(item))) ?? undefined);
    },
    output: () => encodeJson(output()),
    incomplete(usage, reason) {
      const closed = [...items].map(([position, item]) =>
        item.done === null ? event("response.output_item.done", { output_index: position, item: encodeItem(item) }) : "",
      );
      const members = { status: "incomplete", incomplete_details: { reason }, usage: encodeUsage(usage) };
      return closed.join("") + ending("response.incomplete", members);
    },
    failed(error) {
      const failure = event("error", errorMembers(error));
      return failure + ending("response.failed", { status: "failed", error: encodeError(error) });
    },
  };
}

/** Each event has it where a client gets it (response-form.ts). */
function positionOf(index: unknown): number {
  return typeof index === "number" ? index : 0;
}

/** By the events that carry them, the pieces of an item's text. */
const KINDS: ReadonlyMap<string, string> = new Map([
  ["response.output_text.delta", "output_text"],
  ["response.refusal.delta", "refusal"],
  ["response.reasoning_text.delta", "reasoning_text"],
  ["response.reasoning_summary_text.delta", "summary_text"],
  ["response.function_call_arguments.delta", "arguments"],
  ["response.custom_tool_call_input.delta", "input"],
]);

/** An open item with its content so far. */
function encodeItem({ members, done, parts }: Item): Encodable {
  if (done !== null) return done;
  const all = [...parts.values()];
  const of = (...kinds: readonly string[]) => all.filter(({ kind }) => kinds.includes(kind));
  const content = of("output_text", "refusal", "reasoning_text").map(encodePart);
  const summary = of("summary_text").map(encodePart);
  const call = Object.fromEntries(of("arguments", "input").map(({ kind, text }) => [kind, text]));
  return {
    ...members,
    ...(members["status"] === undefined ? {} : { status: "incomplete" }),
    ...(content.length > 0 ? { content } : {}),
    ...(summary.length > 0 ? { summary } : {}),
    ...call,
  };
}

function encodePart({ kind, text }: { kind: string; text: string }): Encodable {
  if (kind === "refusal") return { type: kind, refusal: text };
  return kind === "output_text" ? { type: kind, annotations: [], logprobs: [], text } : { type: kind, text };
}
