import { execFile } from "node:child_process";
import path from "node:path";
import process from "node:process";
import { promisify } from "node:util";
import { afterAll, beforeAll } from "vitest";
import * as z from "zod";
import type { TestProduct } from "../stacks/product.ts";
import { borrowStack } from "../shared-stacks/borrow.ts";
import { findClientPackages, type ClientPackages } from "./packages.ts";

const PROGRAMS = path.join(import.meta.dirname, "../../clients/python");

/** How a program prints an error that its SDK has raised. */
export const sdkError = z.strictObject({ kind: z.string(), status: z.number(), param: z.string().nullable() });

interface PythonPrograms {
  /** Runs `test/clients/python/NAME.py` with a model's name, and waits until its requests are settled. */
  run(name: string, model: string): Promise<{ printed: unknown; chargeNanoUsd: bigint }>;
}

/** Programs that use SDKs, each with one Model of the sample of `npm start`, for all tests of a file. */
export function usePythonPrograms(): PythonPrograms {
  let stack: TestProduct;
  let packages: ClientPackages;

  beforeAll(async () => {
    packages = await findClientPackages({ environment: process.env, onProgress: (line) => console.log(line) });
    stack = await borrowStack();
  });
  afterAll(() => stack.stop());

  return {
    async run(name, model) {
      const before = await stack.balanceNanoUsd();
      const { stdout } = await promisify(execFile)(packages.sdkProgram("python"), [path.join(PROGRAMS, `${name}.py`), model], {
        env: { ...process.env, ...addressesFor(stack) },
      });
      await stack.idle();
      return { printed: JSON.parse(stdout), chargeNanoUsd: before - (await stack.balanceNanoUsd()) };
    },
  };
}

function addressesFor({ baseUrl, apiKey }: TestProduct): NodeJS.ProcessEnv {
  return {
    OPENAI_BASE_URL: `${baseUrl}/v1`,
    OPENAI_API_KEY: apiKey,
    ANTHROPIC_BASE_URL: baseUrl,
    ANTHROPIC_API_KEY: apiKey,
    COHERE_BASE_URL: baseUrl,
    COHERE_API_KEY: apiKey,
  };
}
