import { GatewayError } from "../../contract/errors.ts";
import { createAnswerSize } from "../protocol/answer-bounds.ts";
import { createBodySniffer } from "../protocol/body-sniffer.ts";
import { createSseParser, endOfEvent, MAX_UNCOUNTED_BYTES, type SseEvent } from "../protocol/sse.ts";
import { splitAtComments } from "./comments.ts";
import type { AnswerReader, AnswerWriter, StreamWriter } from "./conversation/answer.ts";
import type { AnswerEvent } from "./conversation/answer-event.ts";
import { createTextSkimmer, type TextSkimmer } from "./text-skimmer.ts";
import type { StreamOutcome, StreamTranslation } from "./translation.ts";

const NOTHING = Buffer.alloc(0);
/** Each costs another pass over the rest of the chunk. */
const MAX_LESSONS_PER_CHUNK = 8;

/**
 * A server's answer in the client's protocol, as it arrives. A complete answer to a stream request gives the same events, at its
 * end; a server's mistake ends the stream after the events before it (S22).
 */
export function createStream(reader: AnswerReader, writer: StreamWriter): StreamTranslation {
  const skimmer = createTextSkimmer(reader, writer);
  const source = createEventSource(reader, skimmer);
  let failure: GatewayError | null = null;

  function write(events: Iterable<AnswerEvent>): string {
    let text = "";
    for (const event of events) text += writer.write(event);
    return text;
  }

  /** Rethrown, it would take the valid events of the same chunk with it. */
  function attempt(step: (events: AnswerEvent[]) => void): string {
    const events: AnswerEvent[] = [];
    const error = source.attempt(events, step);
    return error === null ? write(events) : write(events) + fail(error);
  }

  function fail(error: GatewayError): string {
    failure = error;
    return writer.fail(error);
  }

  function read(bytes: Buffer): Buffer {
    return Buffer.from(attempt((events) => source.push(bytes, events)));
  }

  /**
   * Skims where possible. Where reading is required, it reads event by event for a while, so that the rest of the chunk can be
   * skimmed.
   */
  function push(chunk: Buffer): Buffer {
    const outputs: Buffer[] = [];
    let lessons = 0;
    for (let rest = chunk; rest.length > 0;) {
      const skimmed = source.skim(rest);
      if (skimmed !== null) {
        outputs.push(skimmed.output);
        rest = rest.subarray(skimmed.bytes);
        continue;
      }
      const isLesson = lessons < MAX_LESSONS_PER_CHUNK && skimmer?.expectsText() === true;
      const bytes = isLesson ? endOfEvent(rest) : rest.length;
      lessons += 1;
      outputs.push(read(rest.subarray(0, bytes)));
      rest = rest.subarray(bytes);
    }
    const [first = NOTHING] = outputs;
    return outputs.length <= 1 ? first : Buffer.concat(outputs);
  }

  return {
    push,
    end() {
      const text = attempt((events) => source.end(events));
      if (!source.cut()) return Buffer.from(text);
      return Buffer.from(text + writer.fail(new GatewayError("upstream_error", writer.cutOff)));
    },
    stopForCredit: () => Buffer.from(attempt((events) => source.limit(events))),
    fail: (error) => Buffer.from(source.fail() ? fail(error) : ""),
    isEnding: () => source.outcome() !== "open" || reader.isFinished(),
    outcome: () => source.outcome(),
    failure: () => failure,
    heldBytes: source.heldBytes,
  };
}

/**
 * A complete answer in the client's protocol. Servers that only stream send a stream instead.
 * @throws GatewayError `upstream_error`, or the error that the server put into its answer.
 */
export function translateWhole(body: Buffer, reader: AnswerReader, writer: AnswerWriter): Buffer {
  const source = createEventSource(reader, null);
  const events: AnswerEvent[] = [];
  const error = source.attempt(events, () => {
    source.push(body, events);
    source.end(events);
  });
  if (error !== null) throw error;
  if (source.cut()) throw new GatewayError("upstream_error", writer.stream().cutOff);
  return writer.whole(events);
}

interface EventSource {
  push(chunk: Buffer, events: AnswerEvent[]): void;
  /** The events at the front of a chunk that need not be read. */
  skim(chunk: Buffer): ReturnType<TextSkimmer["skim"]>;
  /** The server closed the stream. */
  end(events: AnswerEvent[]): void;
  limit(events: AnswerEvent[]): void;
  /** Runs a step while the answer is open. @returns the server's mistake; the caller logs our own bugs. */
  attempt(events: AnswerEvent[], step: (events: AnswerEvent[]) => void): GatewayError | null;
  /** Ends the answer from outside; false if it had ended before. */
  fail(): boolean;
  /** Is it open although its server has closed the stream? If so, it is truncated. */
  cut(): boolean;
  outcome(): StreamOutcome;
  /** Of an event, or of a JSON body, that is not complete yet. */
  heldBytes(): number;
}

interface Received {
  chunk: Buffer;
  start: number;
}

function createEventSource(reader: AnswerReader, skimmer: TextSkimmer | null): EventSource {
  const parser = createSseParser();
  const sniffer = createBodySniffer();
  const size = createAnswerSize();
  let outcome: StreamOutcome = "open";
  let comments = 0;
  let isStarted = false;
  /** Bytes held by the parser. */
  let received = 0;

  function take(read: readonly AnswerEvent[], events: AnswerEvent[]): void {
    for (const event of read) {
      if (event.type === "error") throw event.error;
      if (event.type === "start") isStarted = true;
      if (event.type === "stop") outcome = "complete";
      if (event.type === "open") {
        if (event.block.type === "tool_call") size.addCall();
        else size.addBlock();
      }
      // Some clients get a call's arguments in one piece.
      if (event.type === "arguments") size.keep(event.text.length);
      events.push(event);
    }
  }

  // Bytes after an ending need not even be well-formed.
  /** @param chunk the bytes that end the events, from `start` on in the stream. */
  function read(parsed: readonly SseEvent[], events: AnswerEvent[], { chunk, start }: Received): void {
    for (const event of parsed) {
      if (outcome !== "open") return;
      const answered = reader.read(event);
      take(answered, events);
      const bytes = event.start < start ? null : chunk.subarray(event.start - start, event.end - start);
      skimmer?.learn(event, bytes, answered);
    }
  }

  // A server's keep-alive comments satisfy the client's watchdogs too; nothing may be sent before the start.
  function passComments(events: AnswerEvent[]): void {
    for (; comments < parser.comments(); comments += 1) {
      if (isStarted && outcome === "open" && passesComments()) events.push({ type: "ping" });
    }
  }

  /** A flood of them is not forwarded one for one: by then the gateway's own show that it is alive. */
  const passesComments = () => reader.hasKeepAliveComments && parser.otherBytes() <= MAX_UNCOUNTED_BYTES;

  return {
    push(chunk, events) {
      const bytes = sniffer.push(chunk);
      const whole = { chunk: bytes, start: received };
      received += bytes.length;
      for (const piece of splitAtComments(bytes, passesComments)) {
        read(parser.push(piece), events, whole);
        passComments(events);
      }
    },
    skim(chunk) {
      // Only between events of an answer that continues.
      if (skimmer === null || outcome !== "open" || parser.settled() !== received) return null;
      const skimmed = skimmer.skim(chunk);
      if (skimmed === null) return null;
      parser.skip(skimmed.bytes);
      received += skimmed.bytes;
      return skimmed;
    },
    end(events) {
      const json = sniffer.json();
      if (json === null) read(parser.end(), events, { chunk: NOTHING, start: received });
      else take(reader.readWhole(json), events);
      if (outcome === "open") take(reader.end(), events);
    },
    limit: (events) => take(reader.limit(), events),
    attempt(events, step) {
      if (outcome !== "open") return null;
      try {
        step(events);
        return null;
      } catch (thrown) {
        if (!(thrown instanceof GatewayError)) throw thrown;
        outcome = "failed";
        return thrown;
      }
    },
    fail() {
      if (outcome !== "open") return false;
      outcome = "failed";
      return true;
    },
    cut() {
      if (outcome !== "open") return false;
      outcome = "truncated";
      return true;
    },
    outcome: () => outcome,
    heldBytes: () => sniffer.heldBytes() + received - parser.settled(),
  };
}
