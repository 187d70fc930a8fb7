import { expect, test } from "vitest";
import * as z from "zod";
import { embed } from "../../local/simulator/embeddings/vector.ts";
import { sdkError, usePythonPrograms } from "../support/clients/python-program.ts";

/** Embeddings by the official SDK for Python, and by LangChain, from the sample of `npm start`. test/envoy has the one for Node. */
const programs = usePythonPrograms();

const vectors = z.array(z.array(z.number()));
const embedded = z.strictObject({ vectors, tokens: z.number() });
const seenSchema = z.strictObject({
  batch: embedded,
  floats: embedded,
  ids: embedded,
  empty: sdkError,
  unknown: sdkError,
  langchain: vectors,
});

const TEXTS = ["The cat sat on the mat.", "Une phrase française.", "猫"];
const TOKENS = 13;

test("Python's SDK and LangChain read vectors in both encodings, and raise their own errors (S2, S46)", async () => {
  const { printed, chargeNanoUsd } = await programs.run("embeddings", "modelx-embed");
  const seen = seenSchema.parse(printed);
  const expected = TEXTS.map((text) => [...embed(text, 8)]);
  expect(seen.batch).toEqual({ vectors: expected, tokens: TOKENS });
  expect(seen.floats).toEqual({ vectors: expected, tokens: TOKENS });
  expect(seen.ids).toEqual({ vectors: [[1, 2, 3], [4]].map((ids) => [...embed(ids, 8)]), tokens: 4 });
  expect(seen.langchain).toEqual(expected);
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "input[1]" });
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });

  // 0.02 USD for a million tokens.
  expect(chargeNanoUsd).toBe(BigInt(3 * TOKENS + 4) * 20n);
});
