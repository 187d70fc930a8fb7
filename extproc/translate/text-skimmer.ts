import type { AnswerReader, StreamWriter } from "./conversation/answer.ts";
import type { AnswerEvent } from "./conversation/answer-event.ts";
import { createEventTemplate } from "./event-template.ts";
import type { SseEvent } from "../protocol/sse.ts";

/**
 * Most events of a stream add a piece of text to the same block as the last one. Their text is copied from one protocol's event
 * into the other's without being parsed.
 */
export interface TextSkimmer {
  /** The whole events at the front of a chunk that do so; null if there is none. */
  skim(chunk: Buffer): { bytes: number; output: Buffer } | null;
  /** An event was read. @param bytes its own, if all of them are available. */
  learn(event: SseEvent, bytes: Buffer | null, read: readonly AnswerEvent[]): void;
  /** Are the events of a chunk worth reading one by one, because the following ones may be skimmed? */
  expectsText(): boolean;
}

/** After this many events without text, an answer contains something else for now: reasoning, or a call. */
const MAX_EVENTS_WITHOUT_TEXT = 4;

/** Null if the reader or the writer must see each piece. */
export function createTextSkimmer({ skimming }: AnswerReader, { textFrame, textPassed }: StreamWriter): TextSkimmer | null {
  if (skimming === undefined || textFrame === undefined) return null;
  const template = createEventTemplate(skimming.findText);
  /** The block that the known form extends. */
  let index: number | null = null;
  let eventsWithoutText = 0;

  return {
    expectsText: () => eventsWithoutText < MAX_EVENTS_WITHOUT_TEXT,
    skim(chunk) {
      const known = template.skim(chunk);
      if (known === null || known.edited === null) return null;
      skimming.passed(known.textBytes, known.characters);
      textPassed?.(known.length);
      return { bytes: known.bytes, output: known.edited };
    },
    learn(event, bytes, read) {
      eventsWithoutText = read.some(({ type }) => type === "text") ? 0 : eventsWithoutText + 1;
      const [first] = read;
      if (read.length !== 1 || first?.type !== "text") {
        template.forget();
        index = null;
        return;
      }
      if (first.index === index || bytes === null || !template.isLearning()) return;
      template.forget();
      template.learn({ event, bytes, editedData: null, frame: textFrame(first.index) });
      index = first.index;
    },
  };
}
