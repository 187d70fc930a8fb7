import { expect, onTestFinished, test, vi } from "vitest";
import * as z from "zod";
import { startBatchRunner } from "../../../extproc/batches/runner.ts";
import { createBatchContent } from "../../../ledger/batches/content.ts";
import { createLog } from "../../../runtime/log.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";

/** A process whose own Envoy does not accept the requests of batches (S58). */
const postgres = usePostgres();

const PEPPER = Buffer.alloc(32, 7);
const waitRow = z.strictObject({ seconds: z.number() });

test("a process without its Envoy does not keep others from a batch ever longer (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const id = `batch_${"0".repeat(32)}`;
  const content = createBatchContent(PEPPER);
  await database.execute(
    `INSERT INTO batch (id, account_id, key_id, interface, state, requests, due_at)
     VALUES ($1, $2, 'key', 'chat', 'running', 1, now() + interval '1 day')`,
    [id, accountId],
  );
  await database.execute(
    `INSERT INTO batch_request (batch_id, number, custom_id, body, body_bytes) VALUES ($1, 1, 'one', $2, 2)`,
    [id, content.sealBody({ batchId: id, number: 1 }, Buffer.from("{}"))],
  );
  // Each refusal counts as a later one.
  let nowMs = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (nowMs += 100_000));
  const runner = startBatchRunner({
    database,
    content,
    tickets: { issue: () => "ticket" },
    target: { socketPath: "/nowhere/envoy.sock" },
    log: createLog({ process: "test", level: "silent" }),
  });
  onTestFinished(async () => {
    await runner.stop(0);
    vi.restoreAllMocks();
  });
  for (let refusal = 1; refusal <= 6; refusal++) {
    const seconds = await vi.waitFor(
      async () => {
        const [row] = await database.query({
          text: `UPDATE batch SET resumes_at = now() FROM (SELECT resumes_at - now() AS rest FROM batch WHERE id = $1) AS before
                 WHERE id = $1 AND rest > interval '0' RETURNING extract(epoch FROM rest)::float8 AS seconds`,
          values: [id],
          row: waitRow,
        });
        if (row === undefined) throw new Error("the batch was not refused yet");
        return row.seconds;
      },
      { timeout: 20_000, interval: 20 },
    );
    // Two, and what the clocks of two transactions differ by.
    expect(seconds).toBeLessThan(3);
  }
});
