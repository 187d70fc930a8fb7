import type { Interface } from "../../../contract/protocol.ts";
import type { GatewayError } from "../../../contract/errors.ts";
import type { Meter } from "../../meter/meter.ts";
import type { SseEvent } from "../../protocol/sse.ts";
import type { ModelNames } from "../../protocol/upstream-error.ts";
import type { AnswerEvent } from "./answer-event.ts";

/** Reads one server's answer, and counts it. Nothing is called after the event that stops it. */
export interface AnswerReader {
  /** One event of a stream. @throws GatewayError the server's error. */
  read(event: Pick<SseEvent, "event" | "data">): readonly AnswerEvent[];
  /**
   * An answer that arrived in one piece. @throws GatewayError `upstream_error` when it is not one; the server's own error when it
   * is one.
   */
  readWhole(json: string): readonly AnswerEvent[];
  /** The server closed the stream: its ending, if everything required arrived; otherwise nothing. */
  end(): readonly AnswerEvent[];
  /** Ends here, as if the limit of output tokens had been reached. */
  limit(): readonly AnswerEvent[];
  /** Has the server ended its answer? Its usage may still arrive. */
  isFinished(): boolean;
  /** Do comments between the events show that the server is alive? */
  readonly hasKeepAliveComments: boolean;
  /** Where a piece of text changes nothing in the reader. */
  readonly skimming?: TextSkimming;
}

/** How pieces of text are forwarded unread (event-template.ts). */
interface TextSkimming {
  /** The text of an event that contains nothing else. */
  findText(data: Buffer): Buffer | undefined;
  /** Text of this many bytes and characters was passed. */
  passed(bytes: number, characters: number): void;
}

/** Context for reading any answer. */
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
  /** The end of the stream if it fails (S22). */
  fail(error: GatewayError): string;
  /** The message for a client whose answer was cut off. */
  readonly cutOff: string;
  /** The bytes around the JSON string of a piece of text. Absent if the writer must see each piece. */
  textFrame?(index: number): TextFrame;
  /** Text of this many code units was written into the frame. */
  textPassed?(length: number): void;
}

/** Writes answers for one client. */
export interface AnswerWriter {
  stream(): StreamWriter;
  /** @param events of an answer that stopped. */
  whole(events: readonly AnswerEvent[]): Buffer;
}
