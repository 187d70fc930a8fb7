import { GatewayError } from "../../../contract/errors.ts";
import { EVENT_BOUNDS, parseWithin } from "../../protocol/json/bounds.ts";
import { isObject } from "../../protocol/json/object.ts";
import { encodeJson, RawJson, type Encodable } from "../../protocol/json/raw.ts";
import { errorIn } from "../../protocol/chat/error.ts";
import { rawMembers } from "../../protocol/json/raw-members.ts";
import { rawMember, scanElements } from "../../protocol/json/scan.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import { readUpstreamErrorPayload, type ErrorReader } from "../../protocol/upstream-error.ts";
import { brokenOff, withoutChoice } from "../../protocol/broken-answer.ts";

/** A value that grows from chunk to chunk: text, a list, an object of such values, or the last chunk's value. */
type Grown = string | RawJson | RawJson[] | GrownCalls | GrownObject;
interface GrownObject {
  kind: "object";
  members: Map<string, Grown>;
}
interface GrownCalls {
  kind: "calls";
  calls: GrownObject[];
  /** The latest of each index: some servers give all the same. */
  byIndex: Map<string, GrownObject>;
}

interface GrownChoice {
  members: GrownObject;
  message: GrownObject;
  /** Deltas contained content. */
  hasDeltas: boolean;
}

/** Members that arrive in pieces; any other text arrives whole. */
const PIECES: ReadonlySet<string> = new Set([
  "content",
  "reasoning_content",
  "reasoning",
  "refusal",
  "arguments",
  "input",
  "data",
  "transcript",
]);
/** Members that hold further pieces. */
const HOLDERS: ReadonlySet<string> = new Set(["function", "custom", "function_call", "audio", "logprobs"]);

/**
 * The completion that a stream would have been, from servers that stream although JSON was requested. Members that chunks do not
 * split stay as written.
 * @param options how many `answers` were requested: a server may show by `[DONE]` that it gives fewer.
 * @throws GatewayError `upstream_error` when the stream is cut off or holds no chunk; the upstream's own error when it holds one.
 */
export function completionOf(events: readonly SseEvent[], { answers, reader }: { answers: number; reader: ErrorReader }): Buffer {
  const head = new Map<string, Encodable>();
  const choices = new Map<string, GrownChoice>();
  let isDone = false;
  for (const { event, data } of events) {
    if (data.trim() === "[DONE]") {
      isDone = true;
      break;
    }
    const chunk = readChunk({ event, data }, reader);
    for (const [name, value] of Object.entries(rawMembers(chunk, ["choices", "object"]))) {
      if (value.text !== "null" || !head.has(name)) head.set(name, value);
    }
    for (const choice of scanElements(rawMember(chunk, "choices") ?? NOTHING)) {
      const index = rawMember(choice, "index")?.toString("utf8") ?? "0";
      const grown = choices.get(index) ?? { members: newObject(), message: newObject(), hasDeltas: false };
      choices.set(index, grown);
      grow(grown.members, rawMembers(choice, ["delta", "message"]));
      const delta = rawMember(choice, "delta");
      // MiniMax's last event repeats the deltas as a message.
      const repeated = grown.hasDeltas ? undefined : rawMember(choice, "message");
      grow(grown.message, rawMembers(delta ?? repeated ?? NOTHING));
      grown.hasDeltas ||= delta !== undefined && hasText(grown.message);
    }
  }
  const finished = [...choices.values()].filter(({ members }) => isText(members.members.get("finish_reason")));
  if (!isDone && finished.length < answers) throw brokenOff();
  if (choices.size === 0) throw withoutChoice();
  const { id, ...rest } = Object.fromEntries(head);
  return Buffer.from(
    encodeJson({
      id,
      object: "chat.completion",
      ...rest,
      choices: [...choices.values()].map(({ members, message }) => ({
        ...encodeObject(members),
        message: encodeObject(message),
      })),
    }),
  );
}

const NOTHING = Buffer.alloc(0);

function readChunk({ event, data }: Pick<SseEvent, "event" | "data">, reader: ErrorReader): Buffer {
  let json: unknown;
  try {
    json = parseWithin(data, EVENT_BOUNDS);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent data that is not JSON.", { cause });
  }
  const error = isObject(json) ? errorIn(json, event) : null;
  if (error !== null) throw readUpstreamErrorPayload(error, reader);
  return Buffer.from(data);
}

function newObject(): GrownObject {
  return { kind: "object", members: new Map() };
}

/** The greatest depth of pieces: a call of a message, its function, the arguments. */
const MAX_DEPTH = 3;

function grow(into: GrownObject, piece: Record<string, RawJson>, depth = 0): void {
  for (const [name, value] of Object.entries(piece)) {
    into.members.set(name, growValue({ name, value, depth }, into.members.get(name)));
  }
}

interface Piece {
  name: string;
  value: RawJson;
  depth: number;
}

function growValue({ name, value, depth }: Piece, earlier: Grown | undefined): Grown {
  const written = Buffer.from(value.text);
  const isList = value.text.startsWith("[");
  // Null and an empty text add nothing.
  if (value.text === "null" || value.text === '""') return earlier ?? value;
  if (name === "tool_calls" && isList) return growCalls(isCalls(earlier) ? earlier : undefined, written);
  if (HOLDERS.has(name) && depth < MAX_DEPTH && value.text.startsWith("{")) {
    const holder = isGrownObject(earlier) ? earlier : newObject();
    grow(holder, rawMembers(written), depth + 1);
    return holder;
  }
  if (isList) return longer(Array.isArray(earlier) ? earlier : [], scanElements(written).map(toRaw));
  if (PIECES.has(name) && value.text.startsWith('"')) {
    return (typeof earlier === "string" ? earlier : "") + String(JSON.parse(value.text));
  }
  return value;
}

/** In place: log probabilities arrive in thousands of pieces. */
function longer(list: RawJson[], elements: readonly RawJson[]): RawJson[] {
  for (const element of elements) list.push(element);
  return list;
}

/**
 * By index; if a server omits it, a name begins a new call unless it repeats the last one's id, and anything else continues the last.
 * Another id together with a name begins another call of the same index, as in call-form.ts.
 */
function growCalls(earlier: GrownCalls | undefined, written: Buffer): GrownCalls {
  const grown: GrownCalls = earlier ?? { kind: "calls", calls: [], byIndex: new Map() };
  const { calls, byIndex } = grown;
  for (const piece of scanElements(written)) {
    const isNamed = isText(rawMembers(rawMember(piece, "function") ?? NOTHING)["name"]);
    const index = rawMember(piece, "index")?.toString("utf8");
    const members = rawMembers(piece, ["index"]);
    const known = index === undefined ? calls.at(-1) : byIndex.get(index);
    const isOther = isNamed && (index === undefined ? !hasId(known, members["id"]) : hasOtherId(known, members["id"]));
    const call = known === undefined || isOther ? newObject() : known;
    if (call !== known) calls.push(call);
    if (index !== undefined) byIndex.set(index, call);
    grow(call, members, 1);
  }
  return grown;
}

function hasOtherId(call: GrownObject | undefined, id: RawJson | undefined): boolean {
  return isText(id) && isText(call?.members.get("id")) && !hasId(call, id);
}

function hasId(call: GrownObject | undefined, id: RawJson | undefined): boolean {
  const known = call?.members.get("id");
  return known instanceof RawJson && known.text === id?.text;
}

function encode(grown: Grown): Encodable {
  if (typeof grown === "string" || grown instanceof RawJson || Array.isArray(grown)) return grown;
  return grown.kind === "object" ? encodeObject(grown) : grown.calls.map(encodeObject);
}

function encodeObject({ members }: GrownObject): { readonly [name: string]: Encodable } {
  return Object.fromEntries([...members].map(([name, grown]) => [name, encode(grown)]));
}

function toRaw(written: Buffer): RawJson {
  return new RawJson(written.toString("utf8"));
}

function hasText({ members }: GrownObject): boolean {
  return members.has("tool_calls") || members.has("function_call") || [...PIECES].some((name) => hasContent(members.get(name)));
}

function hasContent(grown: Grown | undefined): boolean {
  return Array.isArray(grown) || (typeof grown === "string" && grown !== "");
}

function isText(grown: Grown | undefined): boolean {
  return grown instanceof RawJson && grown.text.startsWith('"') && grown.text !== '""';
}

function isCalls(grown: Grown | undefined): grown is GrownCalls {
  return typeof grown === "object" && "kind" in grown && grown.kind === "calls";
}

function isGrownObject(grown: Grown | undefined): grown is GrownObject {
  return typeof grown === "object" && "kind" in grown && grown.kind === "object";
}
