import process from "node:process";
import { expect, test } from "vitest";
import * as z from "zod";
import { eventually } from "../../support/eventually.ts";
import { startCollectorReceiver } from "../../support/servers/collector-receiver.ts";
import { usePostgres } from "../../support/billing/postgres.ts";
import { openTraces } from "./harness.ts";

const postgres = usePostgres();
const value = z.looseObject({
  stringValue: z.string().optional(),
  intValue: z.string().optional(),
  doubleValue: z.number().optional(),
});
const batchSchema = z.object({
  resourceSpans: z.array(
    z.object({
      scopeSpans: z.array(
        z.object({
          spans: z.array(
            z.object({
              traceId: z.string(),
              name: z.string(),
              kind: z.number(),
              attributes: z.array(z.object({ key: z.string(), value })),
            }),
          ),
        }),
      ),
    }),
  ),
});

test("the receiver of OpenTelemetry's Collector takes batches and test traces, and reads their spans (S61)", async () => {
  const { add, settleSome, exportAll, find, call } = await openTraces((await postgres.migrated()).database);
  const collector = await startCollectorReceiver({ environment: process.env, onProgress: (line) => console.log(line) });
  const { id } = await add(`${collector.url}/v1/traces`);
  const settled = await settleSome(600, { chargeNanoUsd: 90_000n, outcome: "truncated" });
  await exportAll();
  expect(await find(id)).toMatchObject({ sent: 600n, rejected: 0n, problem: null, remark: null });
  expect((await call("POST", `/api/v1/trace-destinations/${id}/test`)).json()).toEqual({
    accepted: true,
    problem: null,
    remark: null,
  });
  await eventually(() => expect(collector.batches).toHaveLength(3));
  const spans = collector.batches.flatMap((batch) =>
    batchSchema.parse(batch).resourceSpans.flatMap(({ scopeSpans }) => scopeSpans.flatMap((scope) => scope.spans)),
  );
  const traceIds = settled.map(({ requestId }) => requestId.replaceAll("-", ""));
  expect(
    spans
      .filter(({ name }) => name !== "test")
      .map(({ traceId }) => traceId)
      .toSorted(),
  ).toEqual(traceIds.toSorted());
  const [first] = spans;
  expect(first).toMatchObject({ name: "chat modelx-v4-pro", kind: 3 });
  expect(Object.fromEntries((first?.attributes ?? []).map((each) => [each.key, each.value]))).toMatchObject({
    "error.type": { stringValue: "truncated" },
    "gen_ai.usage.input_tokens": { intValue: "100" },
    "gateway.cost_usd": { doubleValue: 0.00009 },
  });
});
