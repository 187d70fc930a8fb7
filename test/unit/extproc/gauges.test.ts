import { AggregatorRegistry, Registry } from "prom-client";
import { expect, test } from "vitest";
import { registerGauges, type GaugeReadings } from "../../../extproc/gauges.ts";

const none = () => 0;
const READINGS: GaugeReadings = {
  openStreams: () => 4,
  queuedSettlements: none,
  refusedSettlements: none,
  openHolds: none,
  heldNanoUsd: () => 1_500_000_000n,
  journalBytes: none,
  isJournalFailing: () => true,
  damagedJournals: () => 2,
  ledgerDifferences: none,
  lateSeconds: none,
  bodyBytes: none,
  storedBytes: () => 5_000,
  promptLogBytes: none,
  unreadableRows: () => ({ account: 0, key: 3, model: 0 }),
};

function metricsOf(readings: GaugeReadings): Registry {
  const metrics = new Registry();
  registerGauges(metrics, readings);
  return metrics;
}

/** The samples of one metric, as they are scraped. */
async function samples(metrics: { metrics(): Promise<string> }, name: string): Promise<string[]> {
  return (await metrics.metrics()).split("\n").filter((line) => line.startsWith(name));
}

test("the state is read when it is scraped", async () => {
  let openStreams = 4;
  const metrics = metricsOf({ ...READINGS, openStreams: () => openStreams });
  expect(await samples(metrics, "gateway_open_streams")).toEqual(["gateway_open_streams 4"]);
  openStreams = 5;
  expect(await samples(metrics, "gateway_open_streams")).toEqual(["gateway_open_streams 5"]);
  expect(await samples(metrics, "gateway_held_usd")).toEqual(["gateway_held_usd 1.5"]);
  expect(await samples(metrics, "gateway_journal_failing")).toEqual(["gateway_journal_failing 1"]);
  expect(await samples(metrics, "gateway_unreadable_rows{")).toEqual([
    'gateway_unreadable_rows{kind="account"} 0',
    'gateway_unreadable_rows{kind="key"} 3',
    'gateway_unreadable_rows{kind="model"} 0',
  ]);
});

test("workers add up their parts; what each of them knows counts once", async () => {
  const workers = [metricsOf(READINGS), metricsOf({ ...READINGS, openStreams: () => 7, isJournalFailing: () => false })];
  const both = AggregatorRegistry.aggregate(await Promise.all(workers.map((worker) => worker.getMetricsAsJSON())));
  expect(await samples(both, "gateway_open_streams")).toEqual(["gateway_open_streams 11"]);
  expect(await samples(both, "gateway_journal_failing")).toEqual(["gateway_journal_failing 1"]);
  expect(await samples(both, "gateway_damaged_journals")).toEqual(["gateway_damaged_journals 2"]);
  expect(await samples(both, "gateway_stored_response_bytes")).toEqual(["gateway_stored_response_bytes 5000"]);
  expect(await samples(both, "gateway_unreadable_rows{")).toContain('gateway_unreadable_rows{kind="key"} 3');
});
