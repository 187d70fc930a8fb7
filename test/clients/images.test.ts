import { expect, test } from "vitest";
import * as z from "zod";
import { sdkError, usePythonPrograms } from "../support/clients/python-program.ts";

/** Images by OpenAI's client for Python, from the sample of `npm start`. */
const programs = usePythonPrograms();

const seenSchema = z.strictObject({
  pictures: z.array(z.string()),
  tokens: z.number(),
  urls: z.array(z.string()),
  edits: z.array(z.strictObject({ pictures: z.array(z.string()), tokens: z.number() })),
  streamed_edit: sdkError,
  empty_edit: sdkError,
  many: sdkError,
  stream: sdkError,
  unknown: sdkError,
});

const PNG = "89504e470d0a1a0a";

test("OpenAI's client for Python gets images, their addresses and edits of them, and raises its own errors (S2, S46)", async () => {
  const { printed, chargeNanoUsd } = await programs.run("images", "modelx-image");
  const seen = seenSchema.parse(printed);
  expect(seen).toMatchObject({ pictures: [PNG, PNG], tokens: 2 * 4_160, urls: [expect.stringMatching(/^https:/)] });
  expect(seen.edits).toEqual([
    { pictures: [PNG], tokens: 194 },
    { pictures: [PNG, PNG], tokens: 2 * 194 },
  ]);
  expect(seen.streamed_edit).toEqual({ kind: "BadRequestError", status: 400, param: "stream" });
  expect(seen.empty_edit).toEqual({ kind: "BadRequestError", status: 400, param: "image" });
  expect(seen.many).toEqual({ kind: "BadRequestError", status: 400, param: "n" });
  expect(seen.stream).toEqual({ kind: "BadRequestError", status: 400, param: "stream" });
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });

  // Two of high quality, and one of low; then the same of edits.
  expect(chargeNanoUsd).toBe(2n * (2n * 160_000_000n + 10_000_000n));
});
