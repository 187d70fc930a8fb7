import { GatewayError } from "../../../contract/errors.ts";
import { createByteBuffer } from "../../protocol/byte-buffer.ts";
import { countLead, withoutMark } from "../../protocol/body-sniffer.ts";
import { parseObject, type JsonObject } from "../../protocol/json/object.ts";
import { editMembers, write, type MemberEdits } from "../../protocol/json/splice.ts";
import {
  createSseParser,
  encodeSseEvent,
  endOfEvent,
  MAX_EVENT_BYTES,
  MAX_UNCOUNTED_BYTES,
  type SseEvent,
} from "../../protocol/sse.ts";
import { createEventTemplate } from "../event-template.ts";
import type { StreamOutcome, StreamTranslation } from "../translation.ts";
import { brokenOff } from "../../protocol/broken-answer.ts";

/** The client's replacement for an event; an error replaces it in the client's own shape. */
export type EventEdit = "keep" | "hide" | GatewayError | EventChange;

export interface EventChange {
  /** Of its data. */
  members: MemberEdits;
  /** Events that its server left out before it. */
  missing?: string;
  /** In place of its own. */
  name?: string;
  /** Later events of the same form change in another way. */
  isSingular?: boolean;
}

/** One protocol's processing of the events that pass through. Its state dies with the stream. */
export interface StreamRules {
  /** Reads one event for the meter and the outcome. @param json the event's data, null if that is not an object. */
  read(event: SseEvent, json: JsonObject | null): EventEdit;
  /** Its events have a `type`, which some servers write as the event's name alone: `read` gets it, and so does the client. */
  isTyped?: true;
  /** The name that clients know an event by, if its server leaves it out; null if they need none. */
  nameOf?(json: JsonObject): string | null;
  /** Of an event in which only one text is read: that text (event-template.ts). */
  findText(data: Buffer): Buffer | undefined;
  /** Text of this many bytes and characters was passed that `read` did not see. */
  skimmed(textBytes: number, characters: number): void;
  /** Of an event that was hidden and may be sent later. */
  heldBytes?(): number;
  /** The stream's progress, judged by the events read. */
  outcome(): Exclude<StreamOutcome, "truncated">;
  /** The ending that a complete upstream has omitted. */
  closing(): string;
  /** The ending of an answer that reached its limit of output tokens. */
  limited(): string;
  /** The ending of an answer that failed (S22). */
  failed(error: GatewayError): string;
  /** A complete answer as the stream that the client requested. */
  toStream(answer: Buffer): string;
}

/** Events of one chunk that are read one by one to learn their form: each costs another pass over the rest of the chunk. */
const MAX_LESSONS_PER_CHUNK = 8;

/** The bytes before an event's data, if they are only the event's name. */
const PLAIN_LEAD = /^(?:event: ?[\w.]{0,64}\n)?data: ?$/;

/** White space before a stream or an answer. More than this is not an answer. */
const MAX_LEAD_BYTES = 4 * 1024;

const LF = 10;
const OPEN_BRACE = 123;
const NOTHING = Buffer.alloc(0);

/**
 * A stream whose bytes pass unchanged, except for the members that `rules` edits. Whole events are sent at once; the bytes of an
 * unfinished one wait for its end, so that a broken stream never leaves half an event with the client. Data that is not a JSON
 * object ends it: the client could read it, and the meter could not.
 */
export function createPassthroughStream(rules: StreamRules): StreamTranslation {
  const parser = createSseParser({ reportsEmpty: true });
  const template = createEventTemplate(rules.findText);
  const held = createByteBuffer();
  /** Offset of the first held byte in the stream. */
  let heldFrom = 0;
  /** An event that is not sent unchanged ended here; if that was a CR, its LF may still follow. */
  let replacedEnd = -1;
  const answer = createByteBuffer();
  let isWholeAnswer: boolean | null = null;
  let isClosed = false;
  let ending: StreamOutcome | undefined;
  let failure: GatewayError | null = null;

  function push(chunk: Buffer): Buffer | "unchanged" {
    if (isClosed) return NOTHING;
    if (isWholeAnswer === null) return begin(chunk);
    return isWholeAnswer ? collect(chunk) : pass(chunk);
  }

  /** Some servers answer a stream request with a complete answer; no line of a stream begins with a brace. */
  function begin(chunk: Buffer): Buffer | "unchanged" {
    const lead = countLead(chunk);
    const leadBytes = answer.length() + lead;
    if (lead === chunk.length && leadBytes <= MAX_LEAD_BYTES) return collect(chunk);
    isWholeAnswer = chunk[lead] === OPEN_BRACE && leadBytes <= MAX_LEAD_BYTES;
    const before = Buffer.from(answer.view());
    answer.drop(before.length);
    if (isWholeAnswer) return collect(chunk.subarray(lead));
    // Anthropic's SDK for Python takes a mark for a part of the first event's name.
    const events = withoutMark(before.length === 0 ? chunk : Buffer.concat([before, chunk]));
    const passed = pass(events);
    return passed === "unchanged" && events !== chunk ? events : passed;
  }

  function collect(chunk: Buffer): Buffer {
    if (answer.length() + chunk.length > MAX_EVENT_BYTES)
      throw new GatewayError("upstream_error", "The model server's answer is too large.");
    answer.append(chunk);
    return NOTHING;
  }

  function pass(chunk: Buffer): Buffer | "unchanged" {
    const first = passFront(chunk, true);
    if (first.bytes === chunk.length) return first.output;
    const outputs: Buffer[] = [];
    let isUnchanged = true;
    let lessons = 0;
    for (let at = 0, part = first; ; part = passFront(chunk.subarray(at), lessons < MAX_LESSONS_PER_CHUNK)) {
      lessons += part.isKnown ? 0 : 1;
      if (part.output === "unchanged") outputs.push(chunk.subarray(at, at + part.bytes));
      else outputs.push(part.output);
      isUnchanged &&= part.output === "unchanged";
      at += part.bytes;
      if (at === chunk.length || isClosed) return isUnchanged ? "unchanged" : Buffer.concat(outputs);
    }
  }

  /** Passes the events that have a known form; else one event that may teach another form; else everything. */
  function passFront(chunk: Buffer, mayLearn: boolean): { bytes: number; isKnown: boolean; output: Buffer | "unchanged" } {
    const known = held.length() === 0 && rules.outcome() !== "failed" ? template.skim(chunk) : null;
    if (known === null) {
      const bytes = mayLearn && template.isLearning() ? endOfEvent(chunk) : chunk.length;
      return { bytes, isKnown: false, output: read(bytes === chunk.length ? chunk : chunk.subarray(0, bytes)) };
    }
    rules.skimmed(known.textBytes, known.characters);
    parser.skip(known.bytes);
    heldFrom += known.bytes;
    return { bytes: known.bytes, isKnown: true, output: known.edited ?? "unchanged" };
  }

  function read(chunk: Buffer): Buffer | "unchanged" {
    const events = parser.push(chunk);
    const edits = readEvents(events);
    if (edits.some(isSingular)) template.forget();
    if (held.length() === 0) learnFrom(chunk, events.at(-1), edits.at(-1));
    const isWhole = held.length() === 0 && parser.settled() === heldFrom + chunk.length;
    if (isWhole && edits.length === 0 && replacedEnd !== heldFrom && !isStripped()) {
      heldFrom = parser.settled();
      return "unchanged";
    }
    held.append(chunk);
    return release(edits);
  }

  /** @param edited the last event that is not sent unchanged. */
  function learnFrom(chunk: Buffer, event: SseEvent | undefined, edited: Edited | undefined): void {
    if (event === undefined || event.dataRange === null || !template.isLearning()) return;
    if (!PLAIN_LEAD.test(chunk.toString("latin1", event.start - heldFrom, event.dataRange.start - heldFrom))) return;
    // A name that is added is no part of the form.
    if (edited?.event === event && edited.name !== null) return;
    const edit = edited?.event === event ? edited.edit : "keep";
    if (edit === "hide" || edit instanceof GatewayError || (edit !== "keep" && edit.isSingular === true)) return;
    const bytes = chunk.subarray(event.start - heldFrom, event.end - heldFrom);
    const data = chunk.subarray(event.dataRange.start - heldFrom, event.dataRange.end - heldFrom);
    template.learn({ event, bytes, editedData: edit === "keep" ? null : editMembers(data, edit.members) });
  }

  function readEvents(events: readonly SseEvent[]): Edited[] {
    const edits: Edited[] = [];
    for (const event of events) {
      const json = isClosed ? null : parseEvent(event.data);
      const edit = readEvent(event, json);
      const name = event.event === null && json !== null ? (rules.nameOf?.(json) ?? null) : null;
      if (edit instanceof GatewayError) failure ??= edit;
      if (edit !== "keep") edits.push({ event, edit, name });
      else if (name !== null) edits.push({ event, edit: NO_CHANGE, name });
      // Rewritten, it lacks the bytes that were around its data.
      else if (isStripped()) edits.push({ event, edit: NO_CHANGE, name });
    }
    return edits;
  }

  function readEvent(event: SseEvent, json: JsonObject | null): EventEdit {
    if (isClosed || event.data.trim() === "") return "hide";
    if (json !== null && rules.isTyped === true && (json["type"] ?? "") === "" && event.event !== null)
      return readNamed(event, { ...json, type: event.event });
    if (json !== null || event.data.trim() === "[DONE]") return rules.read(event, json);
    if (rules.outcome() !== "open") return "hide";
    isClosed = true;
    ending = "failed";
    return new GatewayError("upstream_error", "The model server sent an event that is not a JSON object.");
  }

  function readNamed(event: SseEvent, json: JsonObject): EventEdit {
    const edit = rules.read(event, json);
    if (edit === "hide" || edit instanceof GatewayError) return edit;
    const change = edit === "keep" ? NO_CHANGE : edit;
    return { ...change, members: { ...change.members, type: write(json["type"]) } };
  }

  function isStripped(): boolean {
    return parser.otherBytes() > MAX_UNCOUNTED_BYTES;
  }

  /** Without its own bytes around its data. */
  function isRewritten(renamed: string | undefined): boolean {
    return renamed !== undefined || isStripped();
  }

  /** Everything settled, with edits in place. */
  function release(edits: readonly Edited[]): Buffer {
    const bytes = held.view();
    const parts: Buffer[] = [];
    let at = 0;
    for (const { event, edit, name } of edits) {
      keep(at, event.start - heldFrom);
      // An event that is hidden or rewritten takes with it the LF of its own last CR LF.
      if (edit === "hide" || edit instanceof GatewayError || event.dataRange === null || isRewritten(edit.name))
        replacedEnd = event.end;
      if (edit instanceof GatewayError) parts.push(errorEvent(edit));
      else if (edit !== "hide") parts.push(...editEvent(event, { edit, name }));
      at = event.end - heldFrom;
    }
    const end = parser.settled() - heldFrom;
    keep(at, end);
    // The copy that Buffer.concat makes comes before the held bytes move.
    const released = Buffer.concat(parts);
    held.drop(end);
    heldFrom = parser.settled();
    return released;

    function keep(from: number, to: number): void {
      if (isStripped()) return;
      const isPairedLineFeed = from + heldFrom === replacedEnd && from < to && bytes[from] === LF;
      parts.push(bytes.subarray(isPairedLineFeed ? from + 1 : from, to));
    }

    /** The event's own bytes around the edited JSON; data over several lines is rewritten. */
    function editEvent(
      { event, data, start, end, dataRange }: SseEvent,
      { edit: { members, missing = "", name: renamed }, name }: { edit: EventChange; name: string | null },
    ): Buffer[] {
      if (dataRange === null || isRewritten(renamed)) {
        const edited = editMembers(Buffer.from(data), members).toString("utf8");
        return [Buffer.from(missing + encodeSseEvent(renamed ?? event ?? name, edited))];
      }
      const [dataStart, dataEnd] = [dataRange.start - heldFrom, dataRange.end - heldFrom];
      return [
        Buffer.from(missing),
        ...named(bytes.subarray(start - heldFrom, dataStart), name),
        editMembers(bytes.subarray(dataStart, dataEnd), members),
        bytes.subarray(dataEnd, end - heldFrom),
      ];
    }
  }

  function end(): Buffer {
    if (isClosed) return NOTHING;
    const streamed = isWholeAnswer === true ? restream() : NOTHING;
    const unfinished = parser.end();
    const last = Buffer.concat([streamed, release(readEvents(unfinished))]);
    if (isClosed) return last;
    isClosed = true;
    const closing =
      rules.outcome() === "open" ? truncation() : Buffer.from(rules.outcome() === "complete" ? rules.closing() : "");
    // SDKs read no event without its blank line.
    const isOpen = closing.length > 0 || unfinished.length > 0;
    const separator = last.length > 0 && isOpen ? missingBlank(last) : "";
    return Buffer.concat([last, Buffer.from(separator), closing]);
  }

  /** @throws GatewayError `upstream_error` when it is not an answer; the upstream's own error when it is one. */
  function restream(): Buffer {
    const stream = Buffer.from(rules.toStream(answer.view()));
    const passed = pass(stream);
    return passed === "unchanged" ? stream : passed;
  }

  function truncation(): Buffer {
    ending = "truncated";
    return errorEvent(brokenOff());
  }

  function fail(error: GatewayError): Buffer {
    if (isClosed) return NOTHING;
    isClosed = true;
    ending = "failed";
    failure = error;
    return errorEvent(error);
  }

  /** The bytes of an unfinished event are omitted: the client gets only whole events. */
  function stopForCredit(): Buffer {
    if (isClosed || rules.outcome() !== "open") return Buffer.alloc(0);
    isClosed = true;
    ending = "complete";
    return Buffer.from(rules.limited());
  }

  function errorEvent(error: GatewayError): Buffer {
    return Buffer.from(rules.failed(error));
  }

  return {
    push,
    end,
    fail,
    stopForCredit,
    isEnding: () => isClosed || rules.outcome() !== "open",
    outcome: () => ending ?? rules.outcome(),
    failure: () => failure,
    // The parser has the incomplete line, too.
    heldBytes: () => 2 * held.length() + answer.length() + (rules.heldBytes?.() ?? 0),
  };
}

interface Edited {
  event: SseEvent;
  edit: Exclude<EventEdit, "keep">;
  /** To be added. */
  name: string | null;
}

const NO_CHANGE: EventChange = { members: {} };

function isSingular({ edit }: Edited): boolean {
  return edit !== "hide" && !(edit instanceof GatewayError) && edit.isSingular === true;
}

/** @param lead the bytes before an event's data. */
function named(lead: Buffer, name: string | null): Buffer[] {
  return name === null ? [lead] : [Buffer.from(`event: ${name}\n`), lead];
}

/** @throws GatewayError `upstream_error` for more structure than is read: anything passed unread would not be metered. */
function parseEvent(data: string): JsonObject | null {
  try {
    return parseObject(data);
  } catch (cause) {
    throw new GatewayError("upstream_error", "The model server sent an event with more JSON values than the gateway reads.", {
      cause,
    });
  }
}

/** An event without its blank line would swallow the one that follows. */
function missingBlank(bytes: Buffer): string {
  const tail = bytes.subarray(-4).toString("latin1");
  if (/(\n\n|\r\r|\r\n\r\n)$/.test(tail)) return "";
  return tail.endsWith("\n") ? "\n" : "\n\n";
}
