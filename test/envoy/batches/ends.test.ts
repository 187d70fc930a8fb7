import { afterAll, beforeAll, expect, test } from "vitest";
import * as z from "zod";
import { chatLine, createBatch, openai, useBatchModels } from "../../support/servers/batch-models.ts";
import { startDataPlane, type DataPlane } from "../../support/stacks/data-plane.ts";
import { eventually } from "../../support/eventually.ts";

/** A process that ends while it sends requests of batches (S58). */
const server = useBatchModels();
const { stack } = server;
const LONG = { withinMs: 90_000, everyMs: 250 };
let plane: DataPlane;
beforeAll(async () => {
  plane = await startDataPlane(stack(), {}, { sendsBatches: true });
});
afterAll(() => plane.stop());

test("what a killed process had in flight is sent again by another, with one result and one charge each (S58)", async () => {
  // Long enough that none is answered before the process ends, however busy the machine is.
  server.hold(20_000);
  // One process has at most eight in flight, one of each account: the other one gets the rest.
  const customers = await Promise.all(
    Array.from({ length: 12 }, (_, at) => stack().createAccount({ name: `customer-${at}`, creditNanoUsd: 1_000_000_000n })),
  );
  const names = ["x0", "x1", "x2"];
  const batches = await Promise.all(
    customers.map(async ({ apiKey, accountId }) => {
      const client = openai(stack(), apiKey);
      const lines = names.map((name) => chatLine(name));
      return { client, accountId, id: (await createBatch(client, lines)).id };
    }),
  );
  const senders = () =>
    stack().database.query({
      text: "SELECT DISTINCT taken_by::text AS sender FROM batch_request WHERE batch_id = ANY($1) AND state = 'sent'",
      values: [batches.map(({ id }) => id)],
      row: z.strictObject({ sender: z.string() }),
    });
  await eventually(async () => expect((await senders()).length).toBe(2), LONG);
  await plane.endExtproc("SIGKILL");
  server.hold(0);
  await Promise.all(batches.map(expectWhole));

  async function expectWhole({ client, accountId, id }: (typeof batches)[number]): Promise<void> {
    const batch = await eventually(async () => {
      const found = await client.batches.retrieve(id);
      expect(found.status).toBe("completed");
      return found;
    }, LONG);
    expect(batch.request_counts).toEqual({ total: 3, completed: 3, failed: 0 });
    const answers = (await (await client.files.content(batch.output_file_id ?? "")).text()).trim().split("\n");
    const line = z.object({ custom_id: z.string(), response: z.object({ request_id: z.string() }) });
    const results = answers.map((answer) => line.parse(JSON.parse(answer)));
    expect(results.map(({ custom_id }) => custom_id)).toEqual(names);
    for (const { response } of results)
      await eventually(async () => expect(await stack().entriesOf(response.request_id)).toEqual([-45_000n]));
    // Nothing was delivered of those that were in flight: they are free.
    expect(await stack().sumOfEntries(accountId)).toBe(1_000_000_000n - 3n * 45_000n);
  }
});
