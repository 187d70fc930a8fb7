import { readdir, readFile, rm } from "node:fs/promises";
import path from "node:path";
import { expect, inject } from "vitest";
import * as z from "zod";
import { parseNanoUsd } from "../../../ledger/money.ts";
import { listServed } from "../../../local/served.ts";
import { eventually } from "../eventually.ts";
import { borrow, type Loan } from "../test-run/loan.ts";
import { openBooks, type TestProduct } from "../stacks/product.ts";
import { SAMPLE_MANIFESTS } from "../stacks/stack.ts";
import { lentSchema, stacksSocket } from "./lent.ts";

export interface BorrowOptions {
  /** Beyond 5 USD. */
  creditNanoUsd?: bigint;
  /** A folder with all Models to serve; the samples of `npm start` if absent. */
  manifestsDirectory?: string;
}

/** As the account `demo` of `npm start`. */
const CREDIT_NANO_USD = parseNanoUsd("5.00");

/** Maximum wait for what a file leaves running; after that, the next file gets another stack. */
const RETURN_WITHIN_MS = 10_000;

/**
 * A running product that other files use before and after, and none at the same time. The file has Models, an account and a
 * key of its own, and finds nothing of what others did, except in logs, metrics and tables that it reads as a whole.
 * `stop` returns it.
 */
export async function borrowStack({
  creditNanoUsd = 0n,
  manifestsDirectory = SAMPLE_MANIFESTS,
}: BorrowOptions = {}): Promise<TestProduct> {
  const loan = await borrow(stacksSocket(inject("runDirectory")), await readManifests(manifestsDirectory));
  try {
    return await open(loan, creditNanoUsd);
  } catch (error) {
    await loan.giveBack(false);
    throw error;
  }
}

async function readManifests(folder: string): Promise<string> {
  const names = (await readdir(folder)).filter((name) => /\.ya?ml$/.test(name)).toSorted();
  const texts = await Promise.all(names.map((name) => readFile(path.join(folder, name), "utf8")));
  return texts.join("\n---\n");
}

async function open(loan: Loan, creditNanoUsd: bigint): Promise<TestProduct> {
  const lent = lentSchema.parse(loan.lent);
  const { apiKey: poolKey, manifestsFile, ...addresses } = lent;
  const suffix = crypto.randomUUID().slice(0, 8);
  const nameAccount = (name: string) => `${name}-${suffix}`;
  const accountId = nameAccount("tester");
  const books = await openBooks(lent, { accountId, nameAccount });
  const { apiKey } = await books.createAccount({ name: "tester", creditNanoUsd: CREDIT_NANO_USD + creditNanoUsd });
  const { baseUrl } = lent;
  // The catalogue changes at once, after Envoy: with one of the Models, all are there.
  const list = () => listServed({ baseUrl, apiKey, signal: AbortSignal.timeout(30_000) });
  await eventually(async () => expect(Object.values(await list()).flat()).not.toEqual([]));
  const served = await list();

  async function clear(): Promise<void> {
    await rm(manifestsFile, { force: true });
    await eventually(() => expectNoModels(baseUrl, poolKey), { withinMs: RETURN_WITHIN_MS });
  }

  return {
    ...addresses,
    ...books,
    apiKey,
    accountId,
    served,
    complaints: loan.complaints,
    async stop() {
      // A stack that does not come to rest is not returned, and ends with the connection.
      const isClean = await Promise.all([clear(), books.idle()]).then(
        ([, metrics]) => metrics.get("gateway_internal_failures_total") === 0,
        () => false,
      );
      await books.database.close();
      await loan.giveBack(isClean);
    },
  };
}

const listSchema = z.object({ data: z.array(z.unknown()) });

async function expectNoModels(baseUrl: string, apiKey: string): Promise<void> {
  const response = await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } });
  expect(listSchema.parse(await response.json()).data).toEqual([]);
}
