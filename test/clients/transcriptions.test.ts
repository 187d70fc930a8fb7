import { expect, test } from "vitest";
import * as z from "zod";
import { sdkError, usePythonPrograms } from "../support/clients/python-program.ts";

/** Transcriptions by OpenAI's client for Python, from the sample of `npm start`. */
const programs = usePythonPrograms();

const seenSchema = z.strictObject({
  text: z.string(),
  cost: z.string(),
  plain: z.string(),
  subtitles: z.string(),
  duration: z.number(),
  types: z.array(z.string()),
  english: z.string(),
  unknown: sdkError,
  empty: sdkError,
});

test("OpenAI's client for Python gets every form of a transcription, and raises its own errors (S2, S54)", async () => {
  const { printed, chargeNanoUsd } = await programs.run("transcriptions", "modelx-transcribe");
  const seen = seenSchema.parse(printed);
  const text = "A recording of 10.0 seconds.";
  expect(seen).toMatchObject({ text, cost: "0.001000000", plain: `${text}\n`, duration: 10, english: text });
  expect(seen.subtitles).toContain("00:00:00,000 --> 00:00:10,000");
  expect(seen.types).toEqual([...Array.from({ length: 5 }, () => "transcript.text.delta"), "transcript.text.done"]);
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "file" });

  // Six times ten seconds; mistakes are free.
  expect(chargeNanoUsd).toBe(6n * 1_000_000n);
});
