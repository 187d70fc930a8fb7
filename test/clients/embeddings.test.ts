import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { embed } from "../../local/simulator/embeddings/vector.ts";
import { findClientPackages, type ClientPackages } from "../support/clients/packages.ts";
import type { TestProduct } from "../support/product.ts";
import { borrowStack } from "../support/shared-stacks/borrow.ts";

/** Embeddings by the official SDK for Python, and by LangChain, from the sample of `npm start`. test/envoy has the one for Node. */
let stack: TestProduct;
let packages: ClientPackages;

beforeAll(async () => {
  packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
  stack = await borrowStack();
});
afterAll(() => stack.stop());

const vectors = z.array(z.array(z.number()));
const embedded = z.strictObject({ vectors, tokens: z.number() });
const failure = z.strictObject({ kind: z.string(), status: z.number(), param: z.string().nullable() });
const seenSchema = z.strictObject({
  batch: embedded,
  floats: embedded,
  ids: embedded,
  empty: failure,
  unknown: failure,
  langchain: vectors,
});

const TEXTS = ["The cat sat on the mat.", "Une phrase française.", "猫"];
const TOKENS = 13;

test("Python's SDK and LangChain read vectors in both encodings, and raise their own errors (S2, S46)", async () => {
  const before = await stack.balanceNanoUsd();
  const { stdout } = await promisify(execFile)(
    packages.sdkProgram("python"),
    [path.join(import.meta.dirname, "python/embeddings.py"), "modelx-embed"],
    { env: { ...process.env, OPENAI_BASE_URL: `${stack.baseUrl}/v1`, OPENAI_API_KEY: stack.apiKey } },
  );
  const seen = seenSchema.parse(JSON.parse(stdout));
  const expected = TEXTS.map((text) => [...embed(text, 8)]);
  expect(seen.batch).toEqual({ vectors: expected, tokens: TOKENS });
  expect(seen.floats).toEqual({ vectors: expected, tokens: TOKENS });
  expect(seen.ids).toEqual({ vectors: [[1, 2, 3], [4]].map((ids) => [...embed(ids, 8)]), tokens: 4 });
  expect(seen.langchain).toEqual(expected);
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "input[1]" });
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });

  await stack.idle();
  // 0.02 USD for a million tokens.
  expect(before - (await stack.balanceNanoUsd())).toBe(BigInt(3 * TOKENS + 4) * 20n);
});
