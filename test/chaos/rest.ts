import assert from "node:assert/strict";
import { eventually } from "../support/eventually.ts";
import { scrape } from "../support/stacks/metrics.ts";
import type { Plane, SupervisedStack } from "../support/supervised/supervised-stack.ts";
import { countAbandonedLeases } from "./books.ts";
import type { Upstream } from "./upstream.ts";

/** A lease of a process that was killed is in force for 90 s, and reaped a little later. */
const WITHIN_MS = 150_000;

/** Waits until nothing runs, nothing waits and no dead process holds anything. @throws with what is left. */
export async function untilAtRest({ database }: SupervisedStack, plane: Plane, upstream: Upstream): Promise<void> {
  await eventually(
    async () => {
      const metrics = await scrape(plane.extprocAdminUrl);
      const leases = await countAbandonedLeases(database);
      const left = {
        streams: metrics.get("gateway_open_streams"),
        holds: metrics.get("gateway_open_holds"),
        heldUsd: metrics.get("gateway_held_usd"),
        settlements: metrics.get("gateway_queued_settlements"),
        requestsInEnvoy: await countActive(plane.envoyAdminUrl),
        answers: upstream.openAnswers,
        leases,
      };
      assert.deepEqual(left, { streams: 0, holds: 0, heldUsd: 0, settlements: 0, requestsInEnvoy: 0, answers: 0, leases: 0 });
    },
    { withinMs: WITHIN_MS, everyMs: 500 },
  );
}

/**
 * Requests of clients, and those to model servers. The operator's stream is always there, and so is, after the first broken answer, that
 * of Envoy's reports to extproc (operator/bootstrap/filters/broken-answer-log.ts). extproc counts its other streams itself.
 */
async function countActive(adminUrl: string): Promise<number> {
  const text = await (await fetch(`${adminUrl}/stats?filter=_rq_active$`)).text();
  return [...text.matchAll(/^(?!http\.admin|cluster\.xds|cluster\.extproc\.).*_rq_active: (\d+)$/gm)].reduce(
    (sum, [, count]) => sum + Number(count),
    0,
  );
}
