import type { GatewayError } from "../contract/errors.ts";
import type { Run } from "./meter/run.ts";
import * as reply from "./reply.ts";
import type { Reply } from "./reply.ts";
import type { StreamOutcome, StreamTranslation } from "./translate/translation.ts";

/** A streamed answer on its way to the client: translated, metered, and stopped where credit runs out. */
export interface AnswerStream {
  outcome(): StreamOutcome;
  pass(chunk: Buffer, isEnd: boolean): Reply;
}

export interface AnswerStreamStart {
  machine: StreamTranslation;
  run: Run;
  /** Writes down what was thrown, and says it in words for the client. */
  noteFailure(thrown: unknown): GatewayError;
  /** Ends the client's connection, and with it the upstream's. */
  cut(): Reply;
  nowMs(): number;
}

/** Clients hang up on the finish they were given. One that stays on would keep a model server at work that nobody pays. */
const HANG_UP_MS = 5_000;

export function createAnswerStream({ machine, run, noteFailure, cut, nowMs }: AnswerStreamStart): AnswerStream {
  /** When it had its end, before the upstream's own: what that still sends is thrown away. */
  let overMs: number | undefined;

  function translate(chunk: Buffer, isEnd: boolean): Reply {
    const pushed = chunk.length === 0 ? "unchanged" : machine.push(chunk);
    const next = run.noteOutput((pushed === "unchanged" ? chunk : pushed).length);
    if (next === "stop" && !isEnd && machine.outcome() === "open") return stopForCredit(pushed, chunk);
    if (!isEnd) return reply.passChunk(pushed);
    const end = machine.end();
    run.settle(endOutcome(machine), 200);
    if (end.length === 0) return reply.passChunk(pushed);
    return reply.passChunk(Buffer.concat([pushed === "unchanged" ? chunk : pushed, end]));
  }

  /** The client gets its protocol's own finish for a limit. */
  function stopForCredit(pushed: Buffer | "unchanged", chunk: Buffer): Reply {
    overMs = nowMs();
    run.settle("stopped", 200);
    return reply.passChunk(Buffer.concat([pushed === "unchanged" ? chunk : pushed, machine.stopForCredit()]));
  }

  return {
    outcome: () => machine.outcome(),
    pass(chunk, isEnd) {
      if (overMs !== undefined) return nowMs() - overMs < HANG_UP_MS ? reply.passChunk(Buffer.alloc(0)) : cut();
      try {
        return translate(chunk, isEnd);
      } catch (thrown) {
        // The status line is gone: only the protocol's own error event can tell the client.
        overMs = nowMs();
        const error = noteFailure(thrown);
        run.settle("failed", 200);
        return reply.passChunk(machine.fail(error));
      }
    },
  };
}

/** A machine that is still open at the end saw no end: the answer was cut. */
export function endOutcome(machine: StreamTranslation): Exclude<StreamOutcome, "open"> {
  const outcome = machine.outcome();
  return outcome === "open" ? "truncated" : outcome;
}
