import { expect, test } from "vitest";
import * as z from "zod";
import { sdkError, usePythonPrograms } from "../support/clients/python-program.ts";

/** Rankings by both of Cohere's clients for Python, from the sample of `npm start`. */
const programs = usePythonPrograms();

const ranked = z.strictObject({ order: z.array(z.number()), scores: z.array(z.number()), tokens: z.number() });
const seenSchema = z.strictObject({
  newer: ranked,
  older: ranked,
  texts: z.array(z.string()),
  empty: sdkError,
  unknown: sdkError,
});

/** As the simulated server counts the query with each document. */
const TOKENS = 8 + 10 + 9;

test("Cohere's clients for Python read rankings at both paths, and raise their own errors (S2, S46)", async () => {
  const { printed, chargeNanoUsd } = await programs.run("rerank", "modelx-rerank");
  const seen = seenSchema.parse(printed);
  expect(seen.newer).toMatchObject({ order: [1, expect.any(Number)], tokens: TOKENS });
  expect(new Set(seen.older.order)).toEqual(new Set([0, 1, 2]));
  expect(seen.older.scores).toEqual(seen.older.scores.toSorted((one, other) => other - one));
  expect(seen.texts[0]).toBe("What cats eat is meat.");
  expect(seen.empty).toEqual({ kind: "BadRequestError", status: 400, param: "documents" });
  expect(seen.unknown).toEqual({ kind: "NotFoundError", status: 404, param: "model" });

  // Two searches, at 2 USD for a thousand.
  expect(chargeNanoUsd).toBe(2n * 2_000_000n);
});
