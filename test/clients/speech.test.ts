import { expect, test } from "vitest";
import * as z from "zod";
import { sdkError, usePythonPrograms } from "../support/clients/python-program.ts";

/** Speech by OpenAI's client for Python, from the sample of `npm start`. */
const programs = usePythonPrograms();

const seenSchema = z.strictObject({
  whole: z.string(),
  bytes: z.number(),
  pieces: z.number(),
  streamed: z.number(),
  types: z.array(z.string()),
  cut: z.string().nullable(),
  unknown: sdkError,
  empty: sdkError,
});

const HEADER_BYTES = 44;
const BYTES_PER_CHARACTER = 2_400;

test("OpenAI's client for Python gets sound at once, in pieces and as events, and raises its own errors (S2, S52)", async () => {
  const { printed, chargeNanoUsd } = await programs.run("speech", "modelx-speech");
  const seen = seenSchema.parse(printed);
  const bytes = HEADER_BYTES + 12 * BYTES_PER_CHARACTER;
  expect(seen).toMatchObject({ whole: "RIFF", bytes, streamed: bytes });
  expect(seen.pieces).toBeGreaterThan(1);
  expect(seen.types).toEqual([...Array.from({ length: 13 }, () => "speech.audio.delta"), "speech.audio.done"]);
  expect(seen.cut).toMatch(/Error$/);
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "input" });

  // Three times twelve characters; the answer that was cut off is free.
  expect(chargeNanoUsd).toBe(3n * 12n * 15_000n);
});
