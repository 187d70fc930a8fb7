import { existsSync } from "node:fs";
import { describe, expect, inject, test } from "vitest";
import { createSseParser } from "../../extproc/protocol/sse.ts";
import { loadFixtures, type Answer, type Fixture, type Pair } from "./harness-fixture.ts";
import { render } from "./harness-render.ts";
import { playStream } from "./harness-run.ts";
import { readEnding } from "./harness-terminal.ts";

const LINE_ENDS = [
  ["CRLF", "\r\n"],
  ["CR", "\r"],
] as const;
/** Larger transcripts are split at every n-th byte, so that a fixture costs at most this many runs. */
const MAX_SPLITS = 1500;
/** By day. Every byte of a stream with LF is a boundary already; what differs here is one line end or one cut. */
const MAX_VARIED_SPLITS = inject("isNight") ? MAX_SPLITS : 120;

/** Every check of every fixture of a pair. */
export function testPair(pair: Pair): void {
  const fixtures = loadFixtures(pair);
  const streams = fixtures.flatMap((fixture) =>
    fixture.answers
      .filter(({ kind }) => kind === "stream")
      .map((answer) => ({ name: `${fixture.name}/${answer.name}`, fixture, answer })),
  );

  test.for(fixtures)("$name is as its golden file says", async (fixture) => {
    // Vitest would write a missing file outside CI; only `npm run golden:update` may.
    expect(isUpdating() || existsSync(fixture.golden), `${fixture.golden} is missing: npm run golden:update`).toBe(true);
    await expect(render(fixture)).toMatchFileSnapshot(fixture.golden);
  });

  describe("however the upstream's bytes arrive", () => {
    test.for(streams)("$name gives the same when split at each byte", ({ fixture, answer }) => {
      const whole = playStream(fixture, [answer.bytes]);
      for (const at of splitsOf(answer.bytes)) {
        const split = playStream(fixture, [answer.bytes.subarray(0, at), answer.bytes.subarray(at)]);
        expect(split, `split at byte ${at}`).toEqual(whole);
      }
      expect(playStream(fixture, bytesOf(answer.bytes)), "byte by byte").toEqual(whole);
    });

    test.for(streams)("$name gives the same with CRLF and CR, split in many places too", ({ fixture, answer }) => {
      const whole = playStream(fixture, [answer.bytes]);
      for (const [name, lineEnd] of LINE_ENDS) {
        const bytes = Buffer.from(answer.bytes.toString("utf8").replaceAll("\n", lineEnd));
        expect(normalized(playStream(fixture, [bytes])), `with ${name}`).toEqual(whole);
        for (const at of splitsOf(bytes, MAX_VARIED_SPLITS)) {
          const split = playStream(fixture, [bytes.subarray(0, at), bytes.subarray(at)]);
          expect(normalized(split), `${name} split at byte ${at}`).toEqual(whole);
        }
      }
    });
  });

  describe("wherever the upstream breaks off", () => {
    test.for(streams)("$name ends exactly once after each event", ({ fixture, answer }) => {
      expectOneEnding(fixture, answer.bytes);
      for (const end of eventEnds(answer)) expectOneEnding(fixture, answer.bytes.subarray(0, end));
    });

    test.for(streams)("$name ends exactly once in the middle of an event", ({ fixture, answer }) => {
      for (const at of splitsOf(answer.bytes, MAX_VARIED_SPLITS)) expectOneEnding(fixture, answer.bytes.subarray(0, at));
    });
  });
}

function expectOneEnding(fixture: Fixture, bytes: Buffer): void {
  const run = playStream(fixture, [bytes]);
  const expected = run.outcome === "complete" ? "clean" : "error";
  expect(readEnding(fixture.client, run.text), `cut at byte ${bytes.length}: ${run.outcome}\n${run.text}`).toBe(expected);
  expect(run.outcome).not.toBe("open");
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
function normalized(run: ReturnType<typeof playStream>): ReturnType<typeof playStream> {
  return { ...run, text: run.text.replaceAll(/\r\n|\r/g, "\n") };
}

function isUpdating(): boolean {
  return expect.getState().snapshotState["_updateSnapshot"] === "all";
}
