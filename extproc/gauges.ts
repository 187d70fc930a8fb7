import { Gauge, type Registry } from "prom-client";
import type { UnreadableKind } from "../ledger/feed/rows.ts";

/** The state of a process, read when metrics are scraped. */
export interface GaugeReadings {
  openStreams(): number;
  queuedSettlements(): number;
  refusedSettlements(): number;
  openHolds(): number;
  heldNanoUsd(): bigint;
  journalBytes(): number;
  isJournalFailing(): boolean;
  damagedJournals(): number;
  ledgerDifferences(): number;
  lateSeconds(): number;
  bodyBytes(): number;
  storedBytes(): number;
  promptLogBytes(): number;
  unreadableRows(): Readonly<Record<UnreadableKind, number>>;
}

export function registerGauges(metrics: Registry, read: GaugeReadings): void {
  /** Each worker has a part of it. */
  const ofPart = (name: string, help: string, value: () => number) => register(metrics, { name, help, value, aggregator: "sum" });
  /** Each worker reports all of it, or the worst counts. */
  const ofAll = (name: string, help: string, value: () => number) => register(metrics, { name, help, value, aggregator: "max" });

  ofAll("gateway_stored_response_bytes", "Bytes of stored responses of all accounts.", read.storedBytes);
  ofAll("gateway_prompt_log_bytes", "Bytes of recorded prompts and answers of all accounts.", read.promptLogBytes);
  ofPart("gateway_body_bytes", "Bytes reserved for bodies in flight; at the limit, requests are refused.", read.bodyBytes);
  ofPart("gateway_open_streams", "Requests in flight.", read.openStreams);
  ofPart("gateway_queued_settlements", "Settlements waiting for the database.", read.queuedSettlements);
  ofPart(
    "gateway_refused_settlements",
    "Settlements that the database rejects; kept, and retried every minute.",
    read.refusedSettlements,
  );
  ofPart("gateway_open_holds", "Requests that hold credit.", read.openHolds);
  ofPart("gateway_held_usd", "Credit held by running requests, in USD.", () => Number(read.heldNanoUsd()) / 1e9);
  ofPart("gateway_journal_bytes", "Bytes of journaled usage that are not yet in the database.", read.journalBytes);
  ofPart("gateway_journal_failing", "1 while the journal cannot be written; new requests are refused.", () =>
    read.isJournalFailing() ? 1 : 0,
  );
  ofAll("gateway_damaged_journals", "Damaged journals kept for inspection.", read.damagedJournals);
  ofAll("gateway_ledger_differences", "Discrepancies found by the ledger's last check.", read.ledgerDifferences);
  ofAll("gateway_event_loop_delay_seconds", "Delay of the event loop; above a bound, requests are refused.", read.lateSeconds);
  metrics.registerMetric(
    new Gauge({
      name: "gateway_unreadable_rows",
      help: "Accounts, keys and models that a newer version wrote and this one cannot read, by kind.",
      labelNames: ["kind"],
      aggregator: "max",
      registers: [],
      collect() {
        for (const [kind, rows] of Object.entries(read.unreadableRows())) this.set({ kind }, rows);
      },
    }),
  );
}

interface Reading {
  name: string;
  help: string;
  value: () => number;
  /** How the values of several workers become one number. */
  aggregator: "sum" | "max";
}

function register(metrics: Registry, { value, ...reading }: Reading): void {
  metrics.registerMetric(
    new Gauge({
      ...reading,
      registers: [],
      collect(this: Gauge) {
        this.set(value());
      },
    }),
  );
}
