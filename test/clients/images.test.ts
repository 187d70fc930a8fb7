import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** Images by OpenAI's client for Python, from the sample of `npm start`. */
let stack: TestProduct;
let packages: ClientPackages;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const failure = z.strictObject({ kind: z.string(), status: z.number(), param: z.string().nullable() });
const seenSchema = z.strictObject({
  pictures: z.array(z.string()),
  tokens: z.number(),
  urls: z.array(z.string()),
  edits: z.array(z.strictObject({ pictures: z.array(z.string()), tokens: z.number() })),
  streamed_edit: failure,
  empty_edit: failure,
  many: failure,
  stream: failure,
  unknown: failure,
});

const PNG = "89504e470d0a1a0a";

test("OpenAI's client for Python gets images, their addresses and edits of them, and raises its own errors (S2, S46)", async () => {
  const before = await stack.balanceNanoUsd();
  const { stdout } = await promisify(execFile)(
    packages.sdkProgram("python"),
    [path.join(import.meta.dirname, "python/images.py"), "modelx-image"],
    { env: { ...process.env, OPENAI_BASE_URL: `${stack.baseUrl}/v1`, OPENAI_API_KEY: stack.apiKey } },
  );
  const seen = seenSchema.parse(JSON.parse(stdout));
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

  await stack.idle();
  // Two of high quality, and one of low; then the same of edits.
  expect(before - (await stack.balanceNanoUsd())).toBe(2n * (2n * 160_000_000n + 10_000_000n));
});
