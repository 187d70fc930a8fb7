import { randomUUID } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { startBatchRunner } from "../../../extproc/batches/runner.ts";
import { createBatchContent } from "../../../ledger/batches/content.ts";
import { takeRequests } from "../../../ledger/batches/sending.ts";
import { createLog } from "../../../runtime/log.ts";
import { seedLedger } from "../../support/billing/ledger.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { eventually } from "../../support/eventually.ts";

/** A process whose own Envoy does not accept the requests of batches (S58). */
const postgres = usePostgres();

const PEPPER = Buffer.alloc(32, 7);

test("a process without its Envoy keeps no other from sending a batch as widely and as soon as before (S58)", async () => {
  const { database } = await postgres.migrated();
  const { accountId } = await seedLedger(database);
  const id = `batch_${"0".repeat(32)}`;
  const content = createBatchContent(PEPPER);
  const requests = 4;
  await database.execute(
    `INSERT INTO batch (id, account_id, key_id, interface, state, requests, width, due_at, resumes_at)
     VALUES ($1, $2, 'key', 'chat', 'running', $3, $3, now() + interval '1 day', '2020-01-01')`,
    [id, accountId, requests],
  );
  for (let number = 1; number <= requests; number++)
    await database.execute(
      `INSERT INTO batch_request (batch_id, number, custom_id, body, body_bytes) VALUES ($1, $2, 'request ' || $2::integer, $3, 2)`,
      [id, number, content.sealBody({ batchId: id, number }, Buffer.from("{}"))],
    );
  const runner = startBatchRunner({
    database,
    content,
    tickets: { issue: () => "ticket" },
    target: { socketPath: "/nowhere/envoy.sock" },
    log: createLog({ process: "test", level: "silent" }),
  });
  onTestFinished(() => runner.stop(0));
  // They were taken, which moves the batch behind others, and given back.
  await eventually(async () => {
    const given =
      "SELECT FROM batch WHERE resumes_at > '2020-01-01' AND NOT EXISTS (SELECT FROM batch_request WHERE state = 'sent')";
    expect(await database.execute(given)).toBe(1);
  });
  // It may have taken some again before it began to rest: they are given back, too.
  await runner.stop(10_000);
  const others = await takeRequests(database, { holder: randomUUID(), limit: 8 });
  expect(others.map(({ attempts }) => attempts)).toEqual([0, 0, 0, 0]);
});
