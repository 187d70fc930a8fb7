import { AssertionError } from "node:assert";
import { existsSync } from "node:fs";
import { isDeepStrictEqual } from "node:util";
import { describe, expect, inject, test } from "vitest";
import { createSseParser } from "../../extproc/protocol/sse.ts";
import { loadFixtures, type Answer, type Fixture, type Pair } from "./harness-fixture.ts";
import { render } from "./harness-render.ts";
import { createPlayer, type StreamRun } from "./harness-run.ts";
import { readEnding } from "./harness-terminal.ts";

const LINE_ENDS = [
  ["CRLF", "\r\n"],
  ["CR", "\r"],
] as const;
/**
 * Larger transcripts are split at every n-th byte, so that a fixture costs at most this many runs. By day fewer: fed byte by
 * byte, a stream has each boundary already.
 */
const MAX_SPLITS = inject("isNight") ? 1500 : 150;
/** Of what differs by one line end or one cut. */
const MAX_VARIED_SPLITS = inject("isNight") ? MAX_SPLITS : 50;

/** Every check of every fixture of a pair. */
export function testPair(pair: Pair): void {
  const fixtures = loadFixtures(pair);
  const streams = fixtures.flatMap((fixture) =>
    fixture.answers
      .filter(({ kind }) => kind === "stream")
      .map((answer) => ({ name: `${fixture.name}/${answer.name}`, fixture, answer })),
  );

  test.for(fixtures)("$name matches its golden file", async (fixture) => {
    // Vitest would write a missing file outside CI; only `npm run golden:update` may.
    expect(isUpdating() || existsSync(fixture.golden), `${fixture.golden} is missing: npm run golden:update`).toBe(true);
    await expect(render(fixture)).toMatchFileSnapshot(fixture.golden);
  });

  describe("however the upstream's bytes arrive", () => {
    test.for(streams)("$name gives the same when split in two and byte by byte", ({ fixture, answer }) => {
      const play = createPlayer(fixture);
      const whole = play([answer.bytes]);
      for (const at of splitsOf(answer.bytes)) {
        const split = play([answer.bytes.subarray(0, at), answer.bytes.subarray(at)]);
        expectSame(split, whole, `split at byte ${at}`);
      }
      expect(play(bytesOf(answer.bytes)), "byte by byte").toEqual(whole);
    });

    test.for(streams)("$name gives the same with CRLF and CR, and split in many places", ({ fixture, answer }) => {
      const play = createPlayer(fixture);
      const whole = play([answer.bytes]);
      for (const [name, lineEnd] of LINE_ENDS) {
        const bytes = Buffer.from(answer.bytes.toString("utf8").replaceAll("\n", lineEnd));
        expect(normalized(play([bytes])), `with ${name}`).toEqual(whole);
        for (const at of splitsOf(bytes, MAX_VARIED_SPLITS)) {
          const split = play([bytes.subarray(0, at), bytes.subarray(at)]);
          expectSame(normalized(split), whole, `${name} split at byte ${at}`);
        }
      }
    });
  });

  describe("wherever the upstream breaks off", () => {
    test.for(streams)("$name ends exactly once after each event", ({ fixture, answer }) => {
      const expectOneEnding = createEndingCheck(fixture);
      expectOneEnding(answer.bytes);
      for (const end of eventEnds(answer)) expectOneEnding(answer.bytes.subarray(0, end));
    });

    test.for(streams)("$name ends exactly once in the middle of an event", ({ fixture, answer }) => {
      const expectOneEnding = createEndingCheck(fixture);
      for (const at of splitsOf(answer.bytes, MAX_VARIED_SPLITS)) expectOneEnding(answer.bytes.subarray(0, at));
    });
  });
}

/** Vitest's comparison takes longer than the run, and is needed only to show what differs. */
function expectSame(run: StreamRun, whole: StreamRun, message: string): void {
  if (!isDeepStrictEqual(run, whole)) throw new AssertionError({ message, actual: run, expected: whole });
}

function createEndingCheck(fixture: Fixture): (bytes: Buffer) => void {
  const play = createPlayer(fixture);
  return (bytes) => {
    const run = play([bytes]);
    const expected = run.outcome === "complete" ? "clean" : "error";
    const ending = readEnding(fixture.client, run.text);
    if (ending !== expected || run.outcome === "open")
      throw new Error(`cut at byte ${bytes.length}: ${run.outcome}, ${ending} instead of ${expected}\n${run.text}`);
  };
}

function eventEnds(answer: Answer): number[] {
  return createSseParser()
    .push(answer.bytes)
    .map((event) => event.end);
}

function splitsOf(bytes: Buffer, most = MAX_SPLITS): number[] {
  const stride = Math.ceil(bytes.length / most);
  return Array.from({ length: Math.floor(bytes.length / stride) }, (_, index) => index * stride);
}

function bytesOf(bytes: Buffer): Buffer[] {
  return Array.from(bytes, (_, index) => bytes.subarray(index, index + 1));
}

/** A passthrough keeps the upstream's line ends, which is right, and not what is compared here. */
function normalized(run: StreamRun): StreamRun {
  return { ...run, text: run.text.replaceAll(/\r\n|\r/g, "\n") };
}

function isUpdating(): boolean {
  return expect.getState().snapshotState["_updateSnapshot"] === "all";
}
