import type { Interface } from "../../../contract/protocol.ts";
import type { GatewayError } from "../../../contract/errors.ts";
import type { Meter } from "../../meter/meter.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import type { ModelNames } from "../../protocol/upstream-error.ts";
import type { AnswerEvent } from "./answer-event.ts";

/** Reads one server's answer, and counts it. Nothing is called behind the event that stops it. */
export interface AnswerReader {
  /** One event of a stream. @throws GatewayError what the server failed with. */
  read(event: Pick<SseEvent, "event" | "data">): readonly AnswerEvent[];
  /** An answer that came in one piece. @throws GatewayError `upstream_error` when it is none; the server's own error when it is one. */
  readWhole(json: string): readonly AnswerEvent[];
  /** The server closed the stream: its ending, where all that an answer needs was said; else nothing. */
  end(): readonly AnswerEvent[];
  /** Ends here, as if the limit of output tokens were reached. */
  limit(): readonly AnswerEvent[];
  /** Has the server said that its answer is over? Its usage may still come. */
  isFinished(): boolean;
  /** Do comments between the events show that the server is still there? */
  readonly hasKeepAliveComments: boolean;
  /** Where a piece of text changes nothing in the reader. */
  readonly skimming?: TextSkimming;
}

/** How pieces of text are passed on unread (event-template.ts). */
interface TextSkimming {
  /** Of an event that says nothing but one text: that text. */
  findText(data: Buffer): Buffer | undefined;
  /** Text was passed of so many bytes and characters. */
  passed(bytes: number, characters: number): void;
}

/** What the reading of any answer must know. */
export interface ReadAnswerContext {
  meter: Meter;
  requestId: string;
  client: Interface;
  modelNames: ModelNames;
  stopSequences: readonly string[];
  /** Ids of calls that the client has seen, as messages writes them. */
  usedCallIds: ReadonlySet<string>;
}

export interface TextFrame {
  before: string;
  after: string;
}

/** Writes one client's stream. */
export interface StreamWriter {
  write(event: AnswerEvent): string;
  /** The stream's last words where it fails (S22). */
  fail(error: GatewayError): string;
  /** What a client is told whose answer was cut. */
  readonly cutOff: string;
  /** What stands around the JSON string of a piece of text. Absent if the writer must see each piece. */
  textFrame?(index: number): TextFrame;
  /** Text of so many code units was written into the frame. */
  textPassed?(length: number): void;
}

/** Writes answers for one client. */
export interface AnswerWriter {
  stream(): StreamWriter;
  /** @param events of an answer that stopped. */
  whole(events: readonly AnswerEvent[]): Buffer;
}
