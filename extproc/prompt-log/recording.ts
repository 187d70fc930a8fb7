import type { Interface } from "../../contract/protocol.ts";
import { PROMPT_LOG_BYTES } from "../../contract/prompt-log.ts";
import type { RecordedText } from "../../ledger/prompt-log/content.ts";
import { createByteBuffer } from "../protocol/byte-buffer.ts";
import type { RequestBody } from "../protocol/json/request-body.ts";
import { legible, noteOf } from "./legible.ts";
import type { RecordRoom, TakenRoom } from "./room.ts";
import type { RecordQueue } from "./write-queue.ts";

/**
 * What a request of a key with a prompt log says and is answered, while it runs. Nothing here throws or waits: what there is no room
 * for is not recorded.
 */
export interface Recording {
  /** The body was understood, and its model is known. */
  understood(body: RequestBody, model: string): void;
  /** A piece of a streamed answer goes to the client. */
  streamed(bytes: Buffer, isEnd: boolean): void;
  /** The client gets a complete answer. After a part of a stream it is none: the connection is cut then. */
  answered(status: number, body: Buffer): void;
  /** A stream of sound has begun; so much of it went to the client. */
  played(bytes: number): void;
  /** Envoy's stream is over. @param isOpen the model server has not ended its stream. */
  close(isOpen: boolean): void;
}

export interface BegunRequest {
  accountId: string;
  keyId: string;
  requestId: string;
  startedMs: number;
  interface: Interface;
  isForm: boolean;
  /** As the client sent it. */
  body: Buffer;
}

export interface RecordingDeps {
  room: RecordRoom;
  queue: Pick<RecordQueue, "add">;
  onNoRoom(): void;
}

/** What a record takes in memory beside its texts. */
const RECORD_BYTES = 1_024;
const FIRST_ANSWER_BYTES = 16 * 1024;

/**
 * Nothing that lives as long as the answer refers to the body: only the copy of its text does.
 * @returns null if there is no room for it.
 */
export function beginRecording(begun: BegunRequest, { room, queue, onNoRoom }: RecordingDeps): Recording | null {
  const { accountId, keyId, requestId, startedMs, interface: client, isForm, body } = begun;
  const taken = room.take(accountId, RECORD_BYTES + (isForm ? 0 : Math.min(body.length, PROMPT_LOG_BYTES.request)));
  if (taken === null) {
    onNoRoom();
    return null;
  }
  let request = isForm ? formOf(body.length) : textOf(body, PROMPT_LOG_BYTES.request);
  taken.resize(RECORD_BYTES + request.text.length);
  const answer = createAnswer(client, taken, () => RECORD_BYTES + request.text.length);
  let model: string | null = null;
  let isStream = false;
  let isClosed = false;

  return {
    understood(parsed, name) {
      if (isClosed) return;
      model = name;
      isStream = parsed.outline["stream"] === true || parsed.outline["stream"] === "true";
      if (parsed.form === undefined) return;
      const files = parsed.form.files.map((file) => [file.name, noteOf(file.bytes.length, "a file")] as const);
      const shown = Buffer.from(JSON.stringify({ ...parsed.outline, ...Object.fromEntries(files) }));
      const described = legible(shown, PROMPT_LOG_BYTES.request);
      if (taken.resize(RECORD_BYTES + described.text.length)) request = { ...described, bytes: request.bytes };
    },
    streamed: answer.streamed,
    answered: answer.answered,
    played: answer.played,
    close(isOpen) {
      if (isClosed) return;
      isClosed = true;
      const { status, text, isWhole } = answer.finish(isOpen);
      taken.resize(RECORD_BYTES + request.text.length + (text?.text.length ?? 0));
      const facts = { accountId, keyId, requestId, startedAt: new Date(startedMs), interface: client, model, isStream, status };
      queue.add({ ...facts, isWhole, content: { request, answer: text }, room: taken });
    },
  };
}

/** Before its fields are known. */
function formOf(bytes: number): RecordedText {
  return { text: Buffer.from(noteOf(bytes, "a form")), bytes, isCut: false };
}

function textOf(body: Buffer, maxBytes: number): RecordedText {
  return { ...legible(body, maxBytes), bytes: body.length };
}

/** @param heldBytes what the record takes without its answer. */
function createAnswer(client: Interface, taken: TakenRoom, heldBytes: () => number) {
  const collected = createByteBuffer();
  let roomBytes = 0;
  let bytes = 0;
  let isCut = false;
  let hasEnded = false;
  /** A request may be refused after its client has left. */
  let isFinished = false;
  let status: number | null = null;
  let text: RecordedText | null = null;

  /** @returns whether there is room for so much of the answer. */
  function hasRoomFor(wanted: number): boolean {
    if (wanted <= roomBytes) return true;
    const next = Math.min(PROMPT_LOG_BYTES.answer, Math.max(FIRST_ANSWER_BYTES, 2 * wanted));
    if (next < wanted || !taken.resize(heldBytes() + next)) return false;
    roomBytes = next;
    return true;
  }

  return {
    streamed(piece: Buffer, isEnd: boolean): void {
      if (isFinished) return;
      status ??= 200;
      hasEnded ||= isEnd;
      bytes += piece.length;
      if (isCut) return;
      isCut = !hasRoomFor(collected.length() + piece.length);
      if (!isCut) collected.append(piece);
    },
    answered(given: number, body: Buffer): void {
      if (status !== null || isFinished) return;
      status = given;
      hasEnded = true;
      if (client === "embeddings" && given < 300) {
        text = { text: Buffer.from(noteOf(body.length, "vectors")), bytes: body.length, isCut: false };
        return;
      }
      const read = textOf(body, PROMPT_LOG_BYTES.answer);
      text = hasRoomFor(read.text.length) ? read : { text: Buffer.alloc(0), bytes: body.length, isCut: true };
    },
    played(sound: number): void {
      status ??= 200;
      text = { text: Buffer.from(noteOf(sound, "sound")), bytes: sound, isCut: false };
    },
    finish(isOpen: boolean): { status: number | null; text: RecordedText | null; isWhole: boolean } {
      isFinished = true;
      const streamed = status === null ? null : { text: collected.view(), bytes, isCut };
      const whole = text ?? (streamed && { ...streamed, ...shortened(streamed) });
      return { status, text: whole, isWhole: status !== null && (hasEnded || !isOpen) };
    },
  };
}

/** A stream was already cut where there was no room for more of it. */
function shortened({ text, isCut }: Pick<RecordedText, "text" | "isCut">): Pick<RecordedText, "text" | "isCut"> {
  const read = legible(text, PROMPT_LOG_BYTES.answer);
  return { text: read.text, isCut: isCut || read.isCut };
}
