import { GatewayError } from "../../contract/errors.ts";
import { dialectOf, type Dialect, type Interface } from "../../contract/protocol.ts";
import type { Run } from "../meter/run.ts";
import { encodeSseEvent } from "../protocol/sse.ts";
import type { Recording } from "../prompt-log/recording.ts";
import * as reply from "../reply.ts";
import type { Reply } from "../reply.ts";
import type { StreamOutcome, StreamTranslation } from "../translate/translation.ts";
import { brokenOff } from "../protocol/broken-answer.ts";
import type { CheckedStream, StreamCheck } from "./stream-check.ts";

/** A streamed answer on its way to the client: translated, metered, kept alive, and ended with its protocol's own ending. */
export interface AnswerStream {
  outcome(): StreamOutcome;
  /** Why it failed; null if it has not, or if that is logged as soon as it happens. */
  failure(): GatewayError | null;
  /** Bytes of the body, as the model server sent it. */
  receivedBytes(): number;
  /** The gateway has answered, but the model server has not. */
  isWaiting(): boolean;
  /** A chunk from the model server. @returns the client's output; undefined if there is none. */
  pass(chunk: Buffer, isEnd: boolean): Reply | undefined;
  /**
   * The model server ended the answer with trailers.
   * @param dropped the reply to them, which ends the client's answer too.
   * @returns it; undefined if text is still checked: then it is pushed behind that.
   */
  endWithTrailers(dropped: Reply): Reply | undefined;
  /** The model server finally answers: from now on the answer is its own. */
  serverBegan(): void;
  /**
   * The model server broke off. Envoy's report may overtake the first chunk, with which the stream ends then.
   * @param lost called if no chunk comes: Envoy accepts no bytes for the client.
   */
  breakOff(lost: () => void): void;
  /**
   * The gateway ends the answer.
   * @returns "too_early" if Envoy does not accept bytes for the client yet; "undecided" as below.
   */
  fail(thrown: unknown): "reported" | "too_early" | "undecided";
  /** The same for a silence that may be the client's own: it is neither recorded nor settled if "undecided". */
  timeOut(error: GatewayError): "reported" | "too_early" | "undecided";
  /** Nothing more is sent. */
  close(): void;
}

/** For a chunk that Envoy had when its server broke off; it arrives within a few milliseconds. */
const FIRST_CHUNK_WITHIN_MS = 200;

/** Usage, `[DONE]` and the end of the connection follow an answer's ending within milliseconds. */
const ENDS_WITHIN_MS = 5_000;
/** On a busy machine what reports the usage may arrive in parts: each is waited for, up to this. */
const REPORTS_WITHIN_MS = 30_000;
const MAX_ENDING_BYTES = 64 * 1024;

export interface AnswerStreamStart {
  /** The answering server, and thus its protocol, may be known only when it answers. */
  createMachine(): StreamTranslation;
  /** The gateway has answered in the model server's place (docs/decisions/0048). */
  isEarly: boolean;
  /** Called once: from now on Envoy accepts bytes for the client. */
  onBegun(): void;
  run: Run;
  /** The keep-alives that the client gets while the model server is silent. */
  keepAlive: Buffer;
  /** Records a thrown error, and words it for the client. */
  noteFailure(thrown: unknown): GatewayError;
  /** Sends Envoy a message that answers none of its own. */
  push(reply: Reply): void;
  /**
   * Reserves memory for the bytes of an unfinished event.
   * @throws GatewayError if there is none.
   */
  hold(bytes: number): void;
  /** Null if answers are not checked. */
  openCheck: StreamCheck["open"] | null;
  /** Gets what the client gets, but for keep-alives; null unless it is recorded. */
  recording: Recording | null;
}

/** Most events are shorter, and some are split across chunks. */
const HELD_UNNOTED_BYTES = 64 * 1024;

const NOTHING = Buffer.alloc(0);

/** Balancers close connections that are silent for a minute, some for half a minute. */
const DEFAULT_KEEP_ALIVE_MS = 15_000;

export function createAnswerStream(start: AnswerStreamStart): AnswerStream {
  const { createMachine, isEarly, onBegun, run, keepAlive, noteFailure, push, hold, openCheck, recording } = start;
  let isWaiting = isEarly;
  let machine = isEarly ? undefined : createMachine();
  /** Envoy accepts no bytes before it has sent a chunk. */
  let hasBegun = false;
  let isOver = false;
  let isBroken = false;
  let receivedBytes = 0;
  let heldBytes = 0;
  let timer: NodeJS.Timeout | undefined;
  let firstChunk: NodeJS.Timeout | undefined;
  let ending: Ending | undefined;
  /** What goes to the client passes through it; null if nothing is checked, or nothing more. */
  let checked: CheckedStream | null = null;
  /** Settles a checked answer once it has passed. */
  let settle = () => {};
  /** The reply to its trailers, which ends a checked answer. */
  let trailers: Reply | null = null;
  if (openCheck !== null) checked = openCheck({ send, stop: pushLast, fail: (thrown) => pushLast(failed(thrown)) });

  function begin(): void {
    hasBegun = true;
    onBegun();
    const everyMs = run.model.keepAliveMs ?? DEFAULT_KEEP_ALIVE_MS;
    timer = setInterval(() => push(reply.streamChunk(keepAlive, false)), everyMs);
  }

  const theMachine = (): StreamTranslation => (machine ??= createMachine());

  function stopReading(): void {
    isOver = true;
    clearTimeout(firstChunk);
    clearTimeout(ending?.timer);
  }

  function close(): void {
    stopReading();
    clearInterval(timer);
    checked?.close();
    checked = null;
  }

  /** @returns undefined if a check comes first. */
  function last(bytes: Buffer): Reply | undefined {
    if (checked === null) {
      close();
      return toClient(recording, bytes, true);
    }
    stopReading();
    checked.take(bytes);
    checked.end(() => {
      settle();
      pushLast(NOTHING);
    });
    return undefined;
  }

  /** The same, where Envoy waits for no reply. */
  function finish(bytes: Buffer): void {
    if (checked === null) return pushLast(bytes);
    try {
      last(bytes);
    } catch (thrown) {
      pushLast(failed(thrown));
    }
  }

  function pushLast(bytes: Buffer): void {
    close();
    recording?.streamed(bytes, true);
    push(reply.streamChunk(bytes, trailers === null));
    if (trailers !== null) push(trailers);
  }

  /** What has passed a check. */
  function send(bytes: Buffer): void {
    run.noteOutput(bytes.length);
    timer?.refresh();
    push(toClient(recording, bytes, false));
  }

  function settleBy(work: () => void): void {
    if (checked === null) work();
    else settle = work;
  }

  function translate(chunk: Buffer, isEnd: boolean): Reply | undefined {
    const machine = theMachine();
    const pushed = chunk.length === 0 ? "unchanged" : machine.push(chunk);
    noteHeld(machine.heldBytes() + (checked?.heldBytes() ?? 0));
    const bytes = pushed === "unchanged" ? chunk : pushed;
    // What is held is noted when it has passed.
    const next = run.noteOutput(checked === null ? bytes.length : 0);
    if (isEnd) return last(Buffer.concat([bytes, end()]));
    if (next === "stop") {
      // A server may continue after its own finish or error: then the client has its ending, and nothing more is charged.
      if (machine.outcome() !== "open") return last(Buffer.concat([bytes, end()]));
      // The client gets its protocol's own finish for a limit.
      settleBy(() => run.settle("stopped", 200));
      return last(Buffer.concat([bytes, machine.stopForCredit()]));
    }
    if (isOverdue(chunk.length)) return last(Buffer.concat([bytes, end()]));
    if (bytes.length === 0) return undefined;
    if (checked === null) {
      timer?.refresh();
      return toClient(recording, bytes, false);
    }
    checked.take(bytes);
    return undefined;
  }

  function noteHeld(bytes: number): void {
    const noted = bytes > HELD_UNNOTED_BYTES ? bytes : 0;
    if (noted === heldBytes) return;
    hold(noted);
    heldBytes = noted;
  }

  /**
   * A server that continues after its ending is not read forever. Text that the client still gets is charged, and extends the
   * time; so does what arrives before the usage is known, because an estimate could charge more.
   */
  function isOverdue(receivedBytes: number): boolean {
    if (!theMachine().isEnding()) return false;
    const outputBytes = run.meter.outputBytes();
    const nowMs = performance.now();
    ending ??= {
      outputBytes,
      receivedBytes: 0,
      startedMs: nowMs,
      timer: setTimeout(() => finish(guarded(end)), ENDS_WITHIN_MS),
    };
    ending.receivedBytes += receivedBytes;
    if (outputBytes > ending.outputBytes) {
      ending.outputBytes = outputBytes;
      ending.receivedBytes = 0;
      ending.startedMs = nowMs;
      ending.timer.refresh();
    } else if (nowMs - ending.startedMs < REPORTS_WITHIN_MS && run.meter.final().isEstimated) {
      ending.timer.refresh();
    }
    return ending.receivedBytes > MAX_ENDING_BYTES;
  }

  /** The model server sends no more, for whatever reason. @returns the client's remaining output. */
  function end(): Buffer {
    const machine = theMachine();
    const bytes = machine.end();
    const outcome = endOutcome(machine);
    settleBy(() => {
      run.settle(outcome, 200);
      const error = outcome === "truncated" ? BROKEN_OFF : failure();
      if (error !== null) noteFailure(error);
    });
    return bytes;
  }

  function failure(): GatewayError | null {
    return machine?.outcome() === "failed" ? (machine.failure() ?? FAILED) : null;
  }

  function failed(thrown: unknown): Buffer {
    const error = noteFailure(thrown);
    run.settle("failed", 200);
    return failWith(error);
  }

  /** What is held is withheld: the client's end continues what it has. */
  function failWith(error: GatewayError): Buffer {
    const bytes = theMachine().fail(error);
    const ending = checked?.failed(error) ?? bytes;
    checked = null;
    return ending;
  }

  return {
    receivedBytes: () => receivedBytes,
    isWaiting: () => isWaiting,
    outcome: () => machine?.outcome() ?? "open",
    failure,
    pass(chunk, isEnd) {
      receivedBytes += chunk.length;
      // The client has its end: data that the model server sent before it was cut off is discarded.
      if (isOver) return undefined;
      if (!hasBegun) begin();
      try {
        // The early beginning of the answer is not part of the model server's.
        if (isWaiting && !isEnd && !isBroken) return reply.streamChunk(keepAlive, false);
        return translate(chunk, isEnd || isBroken);
      } catch (thrown) {
        // The status line is already sent: only the protocol's own error event can inform the client.
        return last(failed(thrown));
      }
    },
    endWithTrailers(dropped) {
      if (checked !== null) {
        trailers = dropped;
        if (!isOver) finish(guarded(end));
        return undefined;
      }
      if (!isOver) push(toClient(recording, guarded(end), false));
      close();
      recording?.streamed(NOTHING, true);
      return dropped;
    },
    breakOff(lost) {
      if (isOver || isBroken) return;
      isBroken = true;
      if (hasBegun) finish(guarded(end));
      else firstChunk = setTimeout(lost, FIRST_CHUNK_WITHIN_MS);
    },
    serverBegan() {
      isWaiting = false;
    },
    fail(thrown) {
      if (isOver) return "reported";
      if (!hasBegun) return "too_early";
      finish(theMachine().outcome() === "open" ? failed(thrown) : guarded(end));
      return "reported";
    },
    timeOut(error) {
      if (isOver) return "reported";
      if (!hasBegun) return "too_early";
      const isOpen = theMachine().outcome() === "open";
      finish(isOpen ? failWith(error) : guarded(end));
      return isOpen ? "undecided" : "reported";
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

function toClient(recording: Recording | null, bytes: Buffer, isEnd: boolean): Reply {
  recording?.streamed(bytes, isEnd);
  return reply.streamChunk(bytes, isEnd);
}

/** For an answer that its model server has declared over. */
interface Ending {
  timer: NodeJS.Timeout;
  /** Since then, or since the last text. */
  receivedBytes: number;
  /** Of it, or of the last text; by `performance.now`. */
  startedMs: number;
  outputBytes: number;
}

export const BROKEN_OFF = brokenOff();

/** Of one that has no other sign than an event of its server that passes, such as `response.failed`. */
const FAILED = new GatewayError("upstream_error", "The model server's answer failed.");

/** Content that a client of each interface ignores. */
export function keepAliveBytes(client: Interface): Buffer {
  return KEEP_ALIVES[dialectOf(client)];
}

const KEEP_ALIVES = {
  chat: Buffer.from(": keep-alive\n\n"),
  messages: Buffer.from(encodeSseEvent("ping", '{"type": "ping"}')),
} as const satisfies Record<Dialect, Buffer>;

/** A machine that is still open at the end saw no ending: the answer was cut. */
export function endOutcome(machine: StreamTranslation): Exclude<StreamOutcome, "open"> {
  const outcome = machine.outcome();
  return outcome === "open" ? "truncated" : outcome;
}
