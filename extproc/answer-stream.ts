import { GatewayError } from "../contract/errors.ts";
import type { Interface } from "../contract/protocol.ts";
import type { Run } from "./meter/run.ts";
import { encodeSseEvent } from "./protocol/sse.ts";
import * as reply from "./reply.ts";
import type { Reply } from "./reply.ts";
import type { StreamOutcome, StreamTranslation } from "./translate/translation.ts";

/** A streamed answer on its way to the client: translated, metered, kept alive, and ended with its protocol's own last words. */
export interface AnswerStream {
  outcome(): StreamOutcome;
  /** A chunk from the model server. @returns what the client gets for it; undefined if that is nothing. */
  pass(chunk: Buffer, isEnd: boolean): Reply | undefined;
  /** The model server ended the answer with trailers. */
  passTrailers(): Reply;
  /** The model server broke off. @returns "too_early" if Envoy takes no bytes for the client yet. */
  breakOff(): "told" | "too_early";
  /** The gateway ends the answer. @returns "too_early" if Envoy takes no bytes for the client yet. */
  fail(error: GatewayError): "told" | "too_early";
  /** Nothing more is sent. */
  close(): void;
}

export interface AnswerStreamStart {
  machine: StreamTranslation;
  run: Run;
  keepAlive: KeepAlive;
  /** Writes down what was thrown, and puts it into words for the client. */
  noteFailure(thrown: unknown): GatewayError;
  /** Sends Envoy a message that answers none of its own. */
  push(reply: Reply): void;
}

/** What the client gets while the model server is silent. */
interface KeepAlive {
  everyMs: number;
  bytes: Buffer;
}

export function createAnswerStream({ machine, run, keepAlive, noteFailure, push }: AnswerStreamStart): AnswerStream {
  /** Envoy takes no bytes before it has sent a chunk. */
  let hasBegun = false;
  let isOver = false;
  let timer: NodeJS.Timeout | undefined;

  function begin(): void {
    hasBegun = true;
    const { everyMs, bytes } = keepAlive;
    timer = setInterval(() => push(reply.streamChunk(bytes, false)), everyMs);
  }

  function close(): void {
    isOver = true;
    clearInterval(timer);
  }

  function last(bytes: Buffer): Reply {
    close();
    return reply.streamChunk(bytes, true);
  }

  function translate(chunk: Buffer, isEnd: boolean): Reply | undefined {
    const pushed = chunk.length === 0 ? "unchanged" : machine.push(chunk);
    const bytes = pushed === "unchanged" ? chunk : pushed;
    const next = run.noteOutput(bytes.length);
    if (isEnd) return last(Buffer.concat([bytes, end()]));
    if (next === "stop") {
      // A server may go on after its own finish or error: then the client has its ending, and nothing more is paid for.
      if (machine.outcome() !== "open") return last(Buffer.concat([bytes, end()]));
      // The client gets its protocol's own finish for a limit.
      run.settle("stopped", 200);
      return last(Buffer.concat([bytes, machine.stopForCredit()]));
    }
    if (bytes.length === 0) return undefined;
    timer?.refresh();
    return reply.streamChunk(bytes, false);
  }

  /** The model server sends no more, for whatever reason. @returns what the client still gets. */
  function end(): Buffer {
    const bytes = machine.end();
    const outcome = endOutcome(machine);
    run.settle(outcome, 200);
    if (outcome === "truncated") noteFailure(BROKEN_OFF);
    return bytes;
  }

  function failed(thrown: unknown): Buffer {
    const error = noteFailure(thrown);
    run.settle("failed", 200);
    return machine.fail(error);
  }

  return {
    outcome: () => machine.outcome(),
    pass(chunk, isEnd) {
      // The client has its end: what the model server had sent before it was cut off is nobody's.
      if (isOver) return undefined;
      if (!hasBegun) begin();
      try {
        return translate(chunk, isEnd);
      } catch (thrown) {
        // The status line is gone: only the protocol's own error event can tell the client.
        return last(failed(thrown));
      }
    },
    passTrailers() {
      if (!isOver) push(reply.streamChunk(guarded(end), false));
      close();
      return reply.passTrailers();
    },
    breakOff() {
      if (isOver) return "told";
      if (!hasBegun) return "too_early";
      push(last(guarded(end)));
      return "told";
    },
    fail(error) {
      if (isOver) return "told";
      if (!hasBegun) return "too_early";
      push(last(machine.outcome() === "open" ? failed(error) : guarded(end)));
      return "told";
    },
    close,
  };

  function guarded(work: () => Buffer): Buffer {
    try {
      return work();
    } catch (thrown) {
      return failed(thrown);
    }
  }
}

export const BROKEN_OFF = new GatewayError("upstream_error", "The model server broke off in the middle of its answer.");

/** What a client of each interface ignores. */
export function keepAliveBytes(protocol: Interface): Buffer {
  return protocol === "messages" ? PING : COMMENT;
}

const PING = Buffer.from(encodeSseEvent("ping", '{"type": "ping"}'));
const COMMENT = Buffer.from(": keep-alive\n\n");

/** A machine that is still open at the end saw no end: the answer was cut. */
export function endOutcome(machine: StreamTranslation): Exclude<StreamOutcome, "open"> {
  const outcome = machine.outcome();
  return outcome === "open" ? "truncated" : outcome;
}
