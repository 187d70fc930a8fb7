import type { AnswerWindow } from "../../contract/catalogue.ts";
import type { JsonObject } from "../protocol/json/object.ts";
import { createSseParser } from "../protocol/sse.ts";
import { readChecked } from "./answer-pieces.ts";
import { createAnswerTexts } from "./answer-texts.ts";
import type { Judgement } from "./guardrails.ts";
import type { ShownAnswer } from "./shown-answer.ts";

/**
 * Holds back a stream until its hook has seen it: text goes to the client with the window that contains it, in the order of its
 * events. The first windows are short, so that the client soon sees something. While one is checked, the next one fills.
 */
export interface AnswerGate {
  /**
   * @param output whole events for the client.
   * @throws GatewayError `upstream_error` for text that cannot be checked.
   */
  take(output: Buffer): void;
  /** Nothing follows. @param onPassed called when everything has gone to the client. */
  end(onPassed: () => void): void;
  /** What is held is withheld, and nothing goes to the client any more. */
  close(): void;
  /** Of events that wait. */
  heldBytes(): number;
}

export interface AnswerGateStart {
  window: AnswerWindow;
  shown: ShownAnswer;
  /** @throws GatewayError `upstream_error` if it is too much. */
  check(texts: readonly string[]): Promise<Judgement>;
  /** Sends it to the client. */
  release(events: Buffer): void;
  /** Called once: the gate is closed. */
  stop(judgement: Exclude<Judgement, { kind: "passed" }>): void;
  /** The same, for an error thrown after a wait. */
  fail(thrown: unknown): void;
  /** Runs what follows a wait. */
  run(work: () => void): void;
}

interface HeldEvent {
  bytes: Buffer;
  /** Null if it has none, such as a comment. */
  content: { json: JsonObject; data: string } | null;
}

/** Part of a window that the first one has; each is twice as long as the one before. */
const FIRST_SHARE = 1 / 8;

export function createAnswerGate({ window, shown, check, release, stop, fail, run }: AnswerGateStart): AnswerGate {
  const texts = createAnswerTexts();
  /** In order: those that are being checked, and those of the next window. */
  let checking: HeldEvent[] | null = null;
  let next: HeldEvent[] = [];
  let heldBytes = 0;
  let share = FIRST_SHARE;
  /** Of the next window's text; null if it has none. */
  let sinceMs: number | null = null;
  let characters = 0;
  let timer: NodeJS.Timeout | undefined;
  let onPassed: (() => void) | null = null;
  let isClosed = false;

  function hold(event: HeldEvent): void {
    if (event.content !== null) {
      shown.arrived(event.content.json);
      characters += texts.add(event.content.json);
    }
    if (characters > 0 && sinceMs === null) {
      // What came before the first text of a window need not wait with it.
      if (checking === null) show(next.splice(0));
      sinceMs = performance.now();
    }
    next.push(event);
    heldBytes += event.bytes.length;
  }

  function advance(): void {
    if (isClosed || checking !== null) return;
    if (sinceMs === null) {
      show(next.splice(0));
      if (onPassed !== null) finish(onPassed);
      return;
    }
    const waitMs = sinceMs + share * window.windowMs - performance.now();
    if (onPassed !== null || characters >= share * window.windowCharacters || waitMs <= 0) return begin();
    timer ??= setTimeout(() => {
      // It may be early: timers count whole milliseconds.
      timer = undefined;
      later(advance);
    }, Math.ceil(waitMs));
  }

  function begin(): void {
    clearTimeout(timer);
    timer = undefined;
    checking = next.splice(0);
    sinceMs = null;
    characters = 0;
    share = Math.min(1, 2 * share);
    void check(texts.take()).then((judgement) => later(() => judged(judgement)));
  }

  function judged(judgement: Judgement): void {
    if (judgement.kind !== "passed") {
      close();
      return stop(judgement);
    }
    const passed = checking ?? [];
    checking = null;
    show(passed);
    advance();
  }

  function show(events: readonly HeldEvent[]): void {
    if (events.length === 0) return;
    for (const { content, bytes } of events) {
      heldBytes -= bytes.length;
      if (content !== null) shown.shown(content.json, content.data);
    }
    release(events.length === 1 && events[0] !== undefined ? events[0].bytes : Buffer.concat(events.map(({ bytes }) => bytes)));
  }

  function finish(passed: () => void): void {
    close();
    passed();
  }

  /** After a wait. */
  function later(work: () => void): void {
    if (isClosed) return;
    run(() => {
      try {
        work();
      } catch (thrown) {
        fail(thrown);
      }
    });
  }

  function close(): void {
    isClosed = true;
    clearTimeout(timer);
    checking = null;
    next = [];
    heldBytes = 0;
  }

  return {
    take(output) {
      if (isClosed || output.length === 0) return;
      for (const event of eventsIn(output)) hold(event);
      advance();
    },
    end(passed) {
      if (isClosed) return;
      onPassed = passed;
      advance();
    },
    close,
    heldBytes: () => heldBytes,
  };
}

/** Bytes between two events belong to the second one. */
function eventsIn(output: Buffer): HeldEvent[] {
  const parser = createSseParser();
  let at = 0;
  const events = [...parser.push(output), ...parser.end()].map(({ data, end }): HeldEvent => {
    const bytes = output.subarray(at, end);
    at = end;
    const json = readChecked(data);
    return { bytes, content: json === null ? null : { json, data } };
  });
  return at === output.length ? events : [...events, restOf(output.subarray(at))];
}

/** Comments and blank lines. Should there ever be part of an event, it is text. */
function restOf(bytes: Buffer): HeldEvent {
  const written = bytes.toString("utf8");
  return { bytes, content: /^[^:\r\n]/m.test(written) ? { json: { text: written }, data: "{}" } : null };
}
