import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** Rankings by both of Cohere's clients for Python, from the sample of `npm start`. */
let stack: TestProduct;
let packages: ClientPackages;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const ranked = z.strictObject({ order: z.array(z.number()), scores: z.array(z.number()), tokens: z.number() });
const failure = z.strictObject({ kind: z.string(), status: z.number(), param: z.string().nullable() });
const seenSchema = z.strictObject({
  newer: ranked,
  older: ranked,
  texts: z.array(z.string()),
  empty: failure,
  unknown: failure,
});

/** As the simulated server counts the query with each document. */
const TOKENS = 8 + 10 + 9;

test("Cohere's clients for Python read rankings at both paths, and raise their own errors (S2, S46)", async () => {
  const before = await stack.balanceNanoUsd();
  const { stdout } = await promisify(execFile)(
    packages.sdkProgram("python"),
    [path.join(import.meta.dirname, "python/rerank.py"), "modelx-rerank"],
    { env: { ...process.env, COHERE_BASE_URL: stack.baseUrl, COHERE_API_KEY: stack.apiKey } },
  );
  const seen = seenSchema.parse(JSON.parse(stdout));
  expect(seen.newer).toMatchObject({ order: [1, expect.any(Number)], tokens: TOKENS });
  expect(new Set(seen.older.order)).toEqual(new Set([0, 1, 2]));
  expect(seen.older.scores).toEqual(seen.older.scores.toSorted((one, other) => other - one));
  expect(seen.texts[0]).toBe("What cats eat is meat.");
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "documents" });
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });

  await stack.idle();
  // Two searches, at 2 USD for a thousand.
  expect(before - (await stack.balanceNanoUsd())).toBe(2n * 2_000_000n);
});
