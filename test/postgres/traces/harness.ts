import { Registry } from "prom-client";
import { createTraceEvents } from "../../../dashboard/traces/events.ts";
import { exportTraces, startTraceExports, type TraceExportDeps } from "../../../dashboard/traces/export.ts";
import { watchTraces } from "../../../dashboard/traces/watch.ts";
import type { Letter } from "../../../dashboard/mail/letter.ts";
import { addMember } from "../../../ledger/people/members.ts";
import type { Database } from "../../../ledger/postgres/database.ts";
import { settle } from "../../../ledger/settlement/settle.ts";
import type { Settlement } from "../../../ledger/settlement/settlement.ts";
import { addDestination, findDestination, type DestinationSettings } from "../../../ledger/traces/destinations.ts";
import { openDashboard } from "../../support/dashboard/dashboard.ts";
import { PEPPER, seedLedger, settlementOf } from "../../support/billing/ledger.ts";
import { captureLog } from "../../support/stacks/log.ts";

const BASE = "https://gateway.example.com";

/** An account of Ann's that may export its requests. */
export async function openTraces(database: Database) {
  const customer = await seedLedger(database);
  const { accountId } = customer;
  const dashboard = await openDashboard(database, { targetNetworks: "any" });
  const [ann, ben] = [await dashboard.owner("ann@example.com"), await dashboard.owner("ben@example.com")];
  await addMember(database, { accountId, personId: ann.personId, role: "owner" });
  const owner = await dashboard.signIn(ann.personId, accountId);
  const { call } = await dashboard.program(accountId, ann.personId, "owner");
  const letters: Letter[] = [];
  const { log, lines } = captureLog();
  const metrics = new Registry();
  const events = createTraceEvents(metrics);
  const deps: Omit<TraceExportDeps, "everyMs"> = {
    database,
    pepper: PEPPER,
    publicBaseUrl: BASE,
    targetNetworks: "any",
    events,
    log,
  };
  const mailer = { outbox: null, send: async (letter: Letter) => void letters.push(letter) };
  return {
    ...dashboard,
    ...customer,
    owner,
    // With an account of his own.
    other: ben,
    call,
    letters,
    lines,
    metrics: () => metrics.metrics(),
    add: async (url: string, changes: Partial<DestinationSettings> = {}, of = accountId) => {
      const settings = { name: "Collector", kind: "otlp", url, headers: [], includesContent: false, ...changes } as const;
      return database.transaction((transaction) => addDestination(transaction, { accountId: of, pepper: PEPPER, ...settings }));
    },
    find: (id: string, of = accountId) => findDestination(database, { accountId: of, id }),
    settleSome: async (
      count: number,
      changes: Partial<Settlement> = {},
      of: Pick<typeof customer, "accountId" | "keyId"> = customer,
    ) => {
      const settlements = Array.from({ length: count }, () => settlementOf(of, { chargeNanoUsd: 0n, ...changes }));
      await settle(database, settlements);
      return settlements;
    },
    exportAll: (changes: Partial<TraceExportDeps> = {}) => exportTraces({ ...deps, ...changes }),
    startExports: (everyMs = 20) => startTraceExports({ ...deps, everyMs }),
    watch: () => watchTraces({ ...deps, mailer }),
  };
}

/** As if the time of every destination's next attempt had come. */
export async function letTimePass(database: Database): Promise<void> {
  await database.execute("UPDATE trace_destination SET next_attempt_at = now()");
}
