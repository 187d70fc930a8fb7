import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** Speech by OpenAI's client for Python, from the sample of `npm start`. */
let stack: TestProduct;
let packages: ClientPackages;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const failure = z.strictObject({ kind: z.string(), status: z.number(), param: z.string().nullable() });
const seenSchema = z.strictObject({
  whole: z.string(),
  bytes: z.number(),
  pieces: z.number(),
  streamed: z.number(),
  types: z.array(z.string()),
  cut: z.string().nullable(),
  unknown: failure,
  empty: failure,
});

const HEADER_BYTES = 44;
const BYTES_PER_CHARACTER = 2_400;

test("OpenAI's client for Python gets sound at once, in pieces and as events, and raises its own errors (S2, S52)", async () => {
  const before = await stack.balanceNanoUsd();
  const { stdout } = await promisify(execFile)(
    packages.sdkProgram("python"),
    [path.join(import.meta.dirname, "python/speech.py"), "modelx-speech"],
    { env: { ...process.env, OPENAI_BASE_URL: `${stack.baseUrl}/v1`, OPENAI_API_KEY: stack.apiKey } },
  );
  const seen = seenSchema.parse(JSON.parse(stdout));
  const bytes = HEADER_BYTES + 12 * BYTES_PER_CHARACTER;
  expect(seen).toMatchObject({ whole: "RIFF", bytes, streamed: bytes });
  expect(seen.pieces).toBeGreaterThan(1);
  expect(seen.types).toEqual([...Array.from({ length: 13 }, () => "speech.audio.delta"), "speech.audio.done"]);
  expect(seen.cut).toMatch(/Error$/);
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "input" });

  await stack.idle();
  // Three times twelve characters; the answer that was cut off is free.
  expect(before - (await stack.balanceNanoUsd())).toBe(3n * 12n * 15_000n);
});
