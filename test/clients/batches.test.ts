import { expect, test } from "vitest";
import * as z from "zod";
import { usePythonPrograms } from "../support/clients/python-program.ts";

/** Batches by the official SDKs for Python, with the sample of `npm start`. test/envoy has those for Node. */
const programs = usePythonPrograms();

const usageSchema = z
  .union([
    z.looseObject({ prompt_tokens: z.int(), completion_tokens: z.int() }),
    z.looseObject({ input_tokens: z.int(), output_tokens: z.int() }),
  ])
  .transform((usage) => ({
    input: Number(usage["prompt_tokens"] ?? usage["input_tokens"]),
    output: Number(usage["completion_tokens"] ?? usage["output_tokens"]),
  }));
const seenSchema = z.strictObject({
  openai: z.looseObject({ usage: z.array(usageSchema) }),
  anthropic: z.looseObject({ usage: z.array(usageSchema) }),
});

test("Python's SDKs create, follow, read and delete batches, which cost half of the price (S58)", async () => {
  const { printed, chargeNanoUsd } = await programs.run("batches", "modelx-v4-flash");
  const seen = seenSchema.parse(printed);
  expect(seen.openai).toMatchObject({
    status: "completed",
    counts: { total: 3, completed: 2, failed: 1 },
    metadata: { job: "nightly" },
    answered: ["first", "second"],
    errors: [["wrong", 404]],
    listed: true,
    deleted: true,
    gone: "not_found",
  });
  expect(seen.anthropic).toMatchObject({
    counts: { processing: 0, succeeded: 1, errored: 1, canceled: 0, expired: 0 },
    results: [
      ["first", "succeeded"],
      ["wrong", "errored"],
    ],
    listed: true,
    deleted: "message_batch_deleted",
    gone: 404,
  });
  const usage = [...seen.openai.usage, ...seen.anthropic.usage];
  expect(usage.every(({ input, output }) => input > 0 && output > 0)).toBe(true);
  // Half of 0.30 and 1.20 USD for a million tokens.
  const expected = usage.reduce((sum, { input, output }) => sum + 150 * input + 600 * output, 0);
  expect(chargeNanoUsd).toBe(BigInt(expected));
}, 120_000);
