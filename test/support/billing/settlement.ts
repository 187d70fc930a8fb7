import { expect } from "vitest";
import type { Interface, Protocol } from "../../../contract/protocol.ts";
import { chargeNanoUsd } from "../../../ledger/money.ts";
import type { ProductBooks, UsageRow } from "../stacks/product.ts";

export interface ExpectedSettlement {
  model: string;
  interface: Interface;
  upstreamProtocol: Protocol;
  /** The tokens that the client saw; not compared if it saw none. `prompt` includes cached tokens. */
  prompt?: number | undefined;
  cached?: number | undefined;
  output?: number | undefined;
}

/** One usage row of a complete answer, with the tokens that the client saw, and one ledger entry of its charge (S27, S28). */
export async function expectComplete(stack: ProductBooks, requestId: string, expected: ExpectedSettlement): Promise<void> {
  const row = await onlyRow(stack, requestId);
  expect(row).toMatchObject({
    model: expected.model,
    interface: expected.interface,
    upstreamProtocol: expected.upstreamProtocol,
    outcome: "complete",
    httpStatus: 200,
    isEstimated: false,
  });
  const { inputTokens, cachedInputTokens, cacheWriteTokens, outputTokens } = row.usage;
  const prompt = inputTokens + cachedInputTokens + cacheWriteTokens;
  expect({ prompt, cached: cachedInputTokens, output: outputTokens }).toEqual({
    prompt: expected.prompt ?? prompt,
    cached: expected.cached ?? cachedInputTokens,
    output: expected.output ?? outputTokens,
  });
  expect(outputTokens).toBeGreaterThan(0);
}

/** The one usage row of a request; what it charges is what its tokens cost, and what the ledger took. */
export async function onlyRow(stack: ProductBooks, requestId: string): Promise<UsageRow> {
  const rows = await stack.usageOf(requestId);
  expect(rows, `usage rows of ${requestId}`).toHaveLength(1);
  const [row] = rows;
  if (row === undefined) throw new Error(`${requestId} has no usage row`);
  expect(row.chargeNanoUsd).toBe(chargeNanoUsd(row.usage, row.price));
  expect(await stack.entriesOf(requestId)).toEqual(row.chargeNanoUsd === 0n ? [] : [-row.chargeNanoUsd]);
  return row;
}
