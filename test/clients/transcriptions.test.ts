import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** Transcriptions by OpenAI's client for Python, from the sample of `npm start`. */
let stack: TestProduct;
let packages: ClientPackages;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const failure = z.strictObject({ kind: z.string(), status: z.number(), param: z.string().nullable() });
const seenSchema = z.strictObject({
  text: z.string(),
  cost: z.string(),
  plain: z.string(),
  subtitles: z.string(),
  duration: z.number(),
  types: z.array(z.string()),
  english: z.string(),
  unknown: failure,
  empty: failure,
});

test("OpenAI's client for Python gets every form of a transcription, and raises its own errors (S2, S54)", async () => {
  const before = await stack.balanceNanoUsd();
  const { stdout } = await promisify(execFile)(
    packages.sdkProgram("python"),
    [path.join(import.meta.dirname, "python/transcriptions.py"), "modelx-transcribe"],
    { env: { ...process.env, OPENAI_BASE_URL: `${stack.baseUrl}/v1`, OPENAI_API_KEY: stack.apiKey } },
  );
  const seen = seenSchema.parse(JSON.parse(stdout));
  const text = "A recording of 10.0 seconds.";
  expect(seen).toMatchObject({ text, cost: "0.001000000", plain: `${text}\n`, duration: 10, english: text });
  expect(seen.subtitles).toContain("00:00:00,000 --> 00:00:10,000");
  expect(seen.types).toEqual([...Array.from({ length: 5 }, () => "transcript.text.delta"), "transcript.text.done"]);
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "file" });

  await stack.idle();
  // Six times ten seconds; mistakes are free.
  expect(before - (await stack.balanceNanoUsd())).toBe(6n * 1_000_000n);
});
