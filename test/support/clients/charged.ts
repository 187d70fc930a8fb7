import { expect } from "vitest";
import * as z from "zod";
import type { InterfaceName } from "../../../clients/tool.ts";
import { readJournal } from "../servers/simulator-journal.ts";
import type { TestProduct } from "../stacks/product.ts";

const rowSchema = z.strictObject({ interface: z.string(), outcome: z.string(), isEstimated: z.boolean() });

/** Each request since is whole, on the client's own interface, and charged by the upstream's own count. Gives their number. */
export async function expectCharged(stack: TestProduct, since: number, speaks: InterfaceName): Promise<number> {
  await stack.idle();
  const rows = await stack.database.query({
    text: `SELECT interface, outcome, is_estimated AS "isEstimated" FROM usage_event ORDER BY settled_at, started_at OFFSET $1`,
    values: [since],
    row: rowSchema,
  });
  expect(rows.length).toBeGreaterThan(0);
  for (const row of rows) expect(row).toEqual({ interface: speaks, outcome: "complete", isEstimated: false });
  return rows.length;
}

const requestSchema = z.looseObject({
  stream: z.boolean().nullish(),
  tools: z.array(z.unknown()).nullish(),
  thinking: z.unknown().optional(),
  reasoning_effort: z.unknown().optional(),
});

/** The model server's requests, oldest first. */
export async function readUpstreamRequests(stack: TestProduct) {
  const requests = (await readJournal(stack.simulatorUrl)).map(({ body }) => requestSchema.parse(JSON.parse(body)));
  return requests.map((request) => ({
    isStreamed: request.stream === true,
    hasTools: (request.tools ?? []).length > 0,
    wantsReasoning: request.thinking != null || request.reasoning_effort != null,
  }));
}
