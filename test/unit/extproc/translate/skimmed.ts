import { createMeter, type Meter } from "../../../../extproc/meter/meter.ts";
import type { StreamTranslation } from "../../../../extproc/translate/translation.ts";

export interface Skimmed {
  text: string;
  outcome: string;
  bytes: number;
  usage: unknown;
  /** Pieces that were passed without being parsed. */
  passed: number;
}

/** Plays a stream, and counts the pieces that no reader saw. */
export function playSkimmed(open: (meter: Meter) => StreamTranslation, chunks: readonly Buffer[]): Skimmed {
  const meter = createMeter(10);
  let passed = 0;
  const stream = open({
    ...meter,
    producedBytes(bytes, characters) {
      passed += 1;
      meter.producedBytes(bytes, characters);
    },
  });
  const text = [...chunks.map((bytes) => stream.push(bytes)), stream.end()].map(String).join("");
  return { text, outcome: stream.outcome(), bytes: meter.outputBytes(), usage: meter.final(), passed };
}

/** Chunks shorter than any event, so that each is read. */
export function scrapsOf(bytes: Buffer): Buffer[] {
  const size = 7;
  return Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) => bytes.subarray(index * size, (index + 1) * size));
}
