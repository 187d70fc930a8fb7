import { createSecretKey } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { Registry, collectDefaultMetrics } from "prom-client";
import { v7 as uuidv7 } from "uuid";
import { startAdmin } from "../runtime/admin.ts";
import { MONOTONIC } from "../runtime/clock.ts";
import type { Lifecycle } from "../runtime/lifecycle.ts";
import { watchDescriptors } from "../runtime/descriptor-watch.ts";
import { registerLogMetrics } from "../runtime/log-metrics.ts";
import type { CountedLog } from "../runtime/log.ts";
import { createOutage } from "../runtime/outage.ts";
import { createTickets } from "../ledger/batches/ticket.ts";
import { createDatabase } from "../ledger/postgres/database.ts";
import { startFeed, type Feed } from "../ledger/feed/feed.ts";
import type { Change } from "../ledger/feed/rows.ts";
import { createLeaseBank } from "../ledger/leases/lease-bank.ts";
import { createReaper } from "../ledger/leases/reaper.ts";
import { endLeasesOf } from "../ledger/leases/leases.ts";
import { createLabelBudget } from "./labels/label-budget.ts";
import { createLimitTurns } from "../ledger/leases/limit-turns.ts";
import { startNightly } from "../ledger/upkeep/nightly.ts";
import { readSettledBalances } from "../ledger/settlement/settled-balances.ts";
import { createSettler } from "../ledger/settlement/settler.ts";
import { createAnswers } from "./answers/answer.ts";
import { createCurrentBalances } from "./answers/current-balance.ts";
import { createUsageReport } from "./answers/usage-report.ts";
import { createAddressCheck } from "./auth/address-check.ts";
import { createCatchUp, HURRY } from "./auth/catch-up.ts";
import { startBatches } from "./batches/start.ts";
import { createBrokenAnswers } from "./broken-answers.ts";
import type { ExtprocConfig } from "./config.ts";
import { createGuardrails } from "./guardrails/guardrails.ts";
import { createEarlyAnswers } from "./early-answers/early-answers.ts";
import { relayTarget } from "./early-answers/relay.ts";
import { createHeldAnswers } from "./held-answers.ts";
import { createEvents } from "./events.ts";
import { createExchange } from "./exchange/exchange.ts";
import { createAttemptExchange } from "./fallback/attempt-exchange.ts";
import { createOpenAttempts } from "./fallback/open-attempts.ts";
import type { ExchangeDeps } from "./exchange/deps.ts";
import { registerGauges } from "./gauges.ts";
import { openJournal } from "./journal/journal.ts";
import { recoverJournals, type Recovery } from "./journal/recovery.ts";
import { startAccountLoads } from "./load/account-load.ts";
import { createAdmission } from "./load/admission.ts";
import { createByteAdmission } from "./load/byte-admission.ts";
import { createFreeRequests } from "./load/free-requests.ts";
import { startLateness } from "./load/lateness.ts";
import { startLimitExchange } from "./limits/limit-exchange.ts";
import { createLimits } from "./limits/limits.ts";
import { createPace } from "./load/pace.ts";
import { createRefusals } from "./load/refusals.ts";
import { createStarts } from "./load/starts.ts";
import { createTurns } from "./load/turns.ts";
import { createCredit } from "./credit/credit.ts";
import { createDepartures } from "./credit/departures.ts";
import { startLeaseRenewal } from "./credit/lease-renewal.ts";
import { startRunWatch } from "./meter/run-watch.ts";
import { startPromptLog } from "./prompt-log/start.ts";
import { createRequestIds } from "./request-id.ts";
import { createBackendHealth } from "./route/backend-health.ts";
import { startServer, type ExtprocServer } from "./server.ts";
import { createTracedExchange } from "./exchange/traced.ts";
import { createRedactor } from "./redactor.ts";
import { startStoredResponses } from "./stored-responses/start.ts";
import { openSupervisorChannel, type News } from "./workers/channel.ts";
import { createUnreadableRows } from "./world/unreadable-rows.ts";
import { createWorld } from "./world/world.ts";
import { startRounds } from "../runtime/wait.ts";

const RECOVER_EVERY_MS = 10_000;
/**
 * Envoy checks within this time whether a processor is back (operator/bootstrap/extproc-cluster.ts): ready means that requests
 * arrive.
 */
const READY_AFTER_MS = 200;

/** Starts all parts of extproc and registers how they stop. Resolves when Envoy may connect. */
export async function startExtproc(
  config: ExtprocConfig,
  { log, droppedLines, lifecycle }: CountedLog & { lifecycle: Lifecycle },
): Promise<void> {
  let server: ExtprocServer | undefined;
  let readyFromMs = 0;
  const supervisor = config.admin === "supervisor" ? openSupervisorChannel() : undefined;
  const metrics = new Registry();
  const labels = supervisor !== undefined ? { worker: String(config.worker.number) } : {};
  collectDefaultMetrics({ register: metrics, labels });
  registerLogMetrics(metrics, droppedLines);
  const descriptorWatch = watchDescriptors({ log, metrics });
  const clock = { nowMs: () => Date.now() };
  const database = createDatabase({ url: config.databaseUrl, applicationName: "extproc", log });

  const world = createWorld({ lastHeardMs: () => feed.lastSuccessAt });
  let ledgerDifferences = 0;
  const holder = uuidv7();
  const journal = await openJournal({
    root: config.journalDirectory,
    holder,
    worker: config.worker.number,
    onFailed: (error) => log.error({ err: error }, "failed to write to the journal; refusing new requests until writes succeed"),
    onRestored: () => log.warn("journal writes succeed again; the delayed records are written"),
  });
  let recovery: Recovery | undefined;
  const settler = createSettler({
    database,
    flushMs: config.settleEveryMs,
    log,
    onSettled: (result, settlements) => {
      world.applyBalances(result.balances);
      journal.committed(settlements);
      labelBudget.settled(settlements);
      recovery?.committed(settlements);
    },
  });
  const feed = startFeed({ database, log, onReload: world.reload, onChange: (change) => applyChange(change) });

  // All workers share one Envoy.
  const byteAdmission = createByteAdmission({ maxBytes: config.maxBodyBytes / config.worker.of });
  const lateness = startLateness(MONOTONIC);
  const events = createEvents({ log, accessLog: config.accessLog, metrics });
  const labelBudget = createLabelBudget({ onDropped: events.labelsDropped });
  const bank = createLeaseBank(database, holder, config.lease);
  const leasing = createOutage({ log, failing: "failed to lease credit", over: "credit can be leased again" });
  const credit = createCredit({
    bank,
    pendingNanoUsd: settler.pendingNanoUsd,
    isSettlingBehind: () => settler.isFull,
    clock: MONOTONIC,
    newLeaseId: () => uuidv7(),
    topUpUrl: `${config.publicBaseUrl}/dashboard/credit`,
    onLeased: leasing.over,
    onLeaseFailed: leasing.failed,
  });
  const unreadableRows = createUnreadableRows({ log, counts: () => world.unreadable });
  function applyChange(change: Change): void {
    world.apply(change);
    unreadableRows.note(change.unreadable);
    credit.note(change.accounts);
  }
  const loads = startAccountLoads();
  const admission = createAdmission({
    loads,
    maxOpen: config.maxOpenRequests,
    clock: MONOTONIC,
    lateness,
    onRefused: events.limited,
  });
  const starts = createStarts({
    loads,
    clock: MONOTONIC,
    lateness,
    isAlone: admission.isAlone,
    onDelayed: events.startDelayed,
    onRefused: events.limited,
    defer: deferBy,
  });
  const limits = createLimits({ clock, monotonic: MONOTONIC, turns: createLimitTurns(database, holder) });
  const runWatch = startRunWatch({ clock: MONOTONIC, log });
  const pepper = createSecretKey(config.pepper);
  const tickets = createTickets(pepper);
  const storedResponses = startStoredResponses({
    ...config,
    clock: MONOTONIC,
    log,
    onResult: events.responsesStored,
    onDropped: events.storedResponsesDropped,
  });
  const promptLog = startPromptLog({
    ...config,
    log,
    onResult: events.promptsRecorded,
    onDropped: events.promptRecordsDropped,
  });
  const brokenAnswers = createBrokenAnswers(MONOTONIC);
  const heldAnswers = createHeldAnswers();
  const { earlyAnswersAddress } = config;
  const earlyAnswers =
    earlyAnswersAddress === null ? null : createEarlyAnswers({ target: relayTarget(earlyAnswersAddress), worker: config.listen });
  const deps: ExchangeDeps = {
    world,
    credit,
    limits,
    byteAdmission,
    labelBudget,
    promptLog,
    loads,
    addresses: createAddressCheck(config.trustedProxies),
    catchUp: createCatchUp({ feed, clock: MONOTONIC, hurry: createPace(HURRY), maxWaiting: config.maxOpenRequests }),
    admission,
    starts,
    freeRequests: createFreeRequests({ clock: MONOTONIC, onRefused: events.limited }),
    refusals: createRefusals({
      clock: MONOTONIC,
      maxHeld: config.maxOpenRequests,
      wait: (delayMs) => sleep(delayMs),
      onDelayed: events.refusalDelayed,
    }),
    events,
    settler,
    journal,
    runWatch,
    departures: createDepartures({ clock: MONOTONIC, isStopping: () => lifecycle.isStopping }),
    health: createBackendHealth({ clock: MONOTONIC, ...(supervisor === undefined ? {} : { notify: supervisor.notify }) }),
    openAttempts: createOpenAttempts(),
    brokenAnswers,
    heldAnswers,
    earlyAnswers,
    guardrails: createGuardrails({
      target: earlyAnswersAddress === null ? null : relayTarget(earlyAnswersAddress),
      events,
      clock: MONOTONIC,
    }),
    worker: config.worker.number,
    answers: createAnswers({ publicBaseUrl: config.publicBaseUrl }),
    pepper,
    tickets,
    redactorFor: (accountId) => createRedactor({ fingerprints: () => world.fingerprints(accountId), pepper }),
    keysUrl: `${config.publicBaseUrl}/dashboard/keys`,
    modelsUrl: `${config.publicBaseUrl}/dashboard/models`,
    responses: storedResponses.store,
    currentBalances: createCurrentBalances({
      read: (accountIds) => readSettledBalances(database, accountIds),
      apply: world.applyBalances,
    }),
    readUsage: createUsageReport(database),
    newRequestId: createRequestIds(),
    random: Math.random,
    clock,
  };

  registerGauges(metrics, {
    openStreams: () => (server?.openStreams ?? 0) + brokenAnswers.undecided,
    queuedSettlements: () => settler.queued,
    refusedSettlements: () => settler.refused,
    openHolds: () => credit.openHolds,
    heldNanoUsd: () => credit.heldNanoUsd(),
    journalBytes: () => journal.bytes,
    isJournalFailing: () => journal.isFailing,
    damagedJournals: () => recovery?.damagedJournals ?? 0,
    ledgerDifferences: () => ledgerDifferences,
    lateSeconds: () => lateness.meanMs / 1000,
    bodyBytes: () => byteAdmission.bytes,
    storedBytes: () => storedResponses.bytes,
    promptLogBytes: () => promptLog.bytes,
    unreadableRows: () => world.unreadable,
  });

  function hear(news: News): void {
    if ("brokenAnswer" in news) brokenAnswers.report(news.brokenAnswer);
    else if ("heldAnswer" in news) heldAnswers.report(news.heldAnswer);
    else deps.health.hear(news);
  }
  const adminPages = {
    metrics,
    // An unavailable database does not make this process unready: it serves with its known state (docs/architecture.md).
    notReadyBecause: () => [
      ...(feed.lastSuccessAt === null ? [describeLoading(feed.loading)] : []),
      ...(world.models().length === 0 && world.unreadable.model > 0 ? ["a newer version published all models"] : []),
      ...(server === undefined ? ["Envoy's port is not open yet"] : []),
      ...(performance.now() < readyFromMs ? ["Envoy has not asked for its health yet"] : []),
      ...(lifecycle.isStopping ? ["shutting down"] : []),
    ],
  };
  const admin =
    config.admin === "supervisor"
      ? supervisor?.answer({ ...adminPages, hear })
      : await startAdmin({ ...config.admin, ...adminPages });
  await feed.ready;
  const found = await recoverJournals({
    root: config.journalDirectory,
    holder,
    worker: config.worker,
    settler,
    endLeasesOf: (gone) => endLeasesOf(database, gone),
    onDamaged: events.journalDamaged,
    log,
  });
  recovery = found;
  // A predecessor whose supervisor was killed may still have finished its streams when this process started.
  const recoveries = startRounds(found.look, {
    everyMs: RECOVER_EVERY_MS,
    onFailure: (error) => log.warn({ err: error }, "failed to check for journals of ended processes"),
  });
  const leaseRenewal = startLeaseRenewal({ credit, reaper: createReaper({ database, ttlMs: bank.ttlMs }), log });
  const limitExchange = startLimitExchange({ limits, log });
  const nightly = startNightly({
    database,
    retentionDays: config.usageRetentionDays,
    log,
    onChecked: (differences) => (ledgerDifferences = differences),
  });
  const opened = await startServer(config.listen, {
    createExchange: (push, flow) =>
      config.isTraced
        ? createTracedExchange((annotated) => createExchange(deps, annotated, flow), push)
        : createExchange(deps, push, flow),
    onBrokenAnswer(broken) {
      // Envoy reports to any of its workers.
      if (!brokenAnswers.report(broken)) supervisor?.notify({ brokenAnswer: broken });
    },
    onHeldAnswer(held) {
      if (!heldAnswers.report(held)) supervisor?.notify({ heldAnswer: held });
    },
    createAttempt: (push) => createAttemptExchange({ openAttempts: deps.openAttempts, push }),
    turns: createTurns({ clock: MONOTONIC, defer: setImmediate, deferBy }),
    strangers: loads.strangers,
    earlyAnswers,
    log,
  });
  server = opened;
  readyFromMs = performance.now() + READY_AFTER_MS;
  log.info({ listen: config.listen, admin: config.admin }, "ready");

  const { batchesAddress } = config;
  // One of all workers sends them.
  const isSender = batchesAddress !== null && config.worker.number === 0;
  const batches = isSender ? startBatches({ ...config, address: batchesAddress, tickets, log }) : null;
  if (batches !== null)
    lifecycle.onShutdown({ name: "finish requests of batches", deadlineMs: config.drainMs + 2_000, run: batches.stop });
  lifecycle.onShutdown({
    name: "finish open streams",
    deadlineMs: config.drainMs + 1000,
    run: () => opened.stop(config.drainMs),
  });
  lifecycle.onShutdown({ name: "decide who ended requests", deadlineMs: 1_000, run: () => brokenAnswers.close() });
  lifecycle.onShutdown({ name: "settle what is queued", deadlineMs: 15_000, run: () => settler.drain(14_000) });
  lifecycle.onShutdown({ name: "store finished responses", deadlineMs: 5_000, run: () => storedResponses.drain(4_000) });
  lifecycle.onShutdown({ name: "write recorded prompts", deadlineMs: 5_000, run: () => promptLog.drain(4_000) });
  lifecycle.onShutdown({
    name: "give back credit leases",
    deadlineMs: 3_000,
    async run() {
      lateness.stop();
      loads.stop();
      starts.stop();
      runWatch.stop();
      await Promise.all([recoveries.stop(), leaseRenewal.stop(), limitExchange.stop(), nightly.stop()]);
      await credit.close();
    },
  });
  lifecycle.onShutdown({ name: "close the journal", deadlineMs: 2_000, run: () => journal.close() });
  lifecycle.onShutdown({ name: "stop the feed", deadlineMs: 2_000, run: () => feed.stop() });
  lifecycle.onShutdown({
    name: "close the database",
    deadlineMs: 2_000,
    run: async () => void (await Promise.all([database.close(), storedResponses.close(), promptLog.close()])),
  });
  lifecycle.onShutdown({ name: "close the admin port", deadlineMs: 2_000, run: () => admin?.close() });
  lifecycle.onShutdown({ name: "stop watching descriptors", deadlineMs: 1_000, run: () => descriptorWatch.stop() });
}

function deferBy(callback: () => void, afterMs: number): () => void {
  const timer = setTimeout(callback, afterMs);
  return () => clearTimeout(timer);
}

function describeLoading(loading: Feed["loading"]): string {
  const progress = loading === null ? "" : ` (${loading.accounts} accounts and ${loading.keys} keys so far)`;
  return `keys and models have not been loaded yet${progress}`;
}
