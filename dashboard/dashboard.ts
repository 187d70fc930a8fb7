import { readFile } from "node:fs/promises";
import { collectDefaultMetrics, Registry } from "prom-client";
import { createDatabase } from "../ledger/postgres/database.ts";
import { createReports } from "../ledger/postgres/reports-database.ts";
import { startAdmin } from "../runtime/admin.ts";
import type { Lifecycle } from "../runtime/lifecycle.ts";
import { startTlsFiles, type TlsFiles } from "../runtime/tls-files.ts";
import { watchDescriptors } from "../runtime/descriptor-watch.ts";
import { registerLogMetrics } from "../runtime/log-metrics.ts";
import type { CountedLog, Logger } from "../runtime/log.ts";
import { createApp } from "./app.ts";
import { createBatchMetrics } from "./batches/metrics.ts";
import { startBatchWatch } from "./batches/watch.ts";
import { startBudgetWatch } from "./budgets/watch.ts";
import { startAutoTopUp } from "./payments/auto-top-up.ts";
import { checkConfig } from "./config/check-config.ts";
import type { DashboardConfig } from "./config/dashboard-config.ts";
import { startLowBalanceWatch } from "./payments/low-balance.ts";
import { createMailer } from "./mail/mailer.ts";
import { createProvider } from "./oidc/create-provider.ts";
import { mutualTlsServer } from "./http/mutual-tls.ts";
import { startModelHoursWatch } from "./model-hours-watch.ts";
import { createPasskeys } from "./passkeys/passkeys.ts";
import { relyingPartyOf } from "./passkeys/relying-party.ts";
import { createPayments } from "./payments/payments.ts";
import { createTraceEvents } from "./traces/events.ts";
import { startTraceExports } from "./traces/export.ts";
import { startTraceWatch } from "./traces/watch.ts";
import { startDeliveries } from "./webhooks/deliver.ts";
import { startEventWatch } from "./webhooks/watch.ts";

/** Starts the pages and registers how they stop. Resolves when the ports are open. */
export async function startDashboard(
  config: DashboardConfig,
  { log, droppedLines, lifecycle }: CountedLog & { lifecycle: Lifecycle },
): Promise<void> {
  checkConfig(config);
  const metrics = new Registry();
  collectDefaultMetrics({ register: metrics });
  registerLogMetrics(metrics, droppedLines);
  const descriptorWatch = watchDescriptors({ log, metrics });
  const database = createDatabase({ url: config.databaseUrl, applicationName: "dashboard", log });
  const { reportsUrl } = config;
  const replica =
    reportsUrl === undefined ? undefined : createDatabase({ url: reportsUrl, applicationName: "dashboard reports", log });
  const reports = createReports({ primary: database, replica, log });
  const mailer = await createMailer(config.mail);
  const terms = config.termsFile === undefined ? undefined : await readFile(config.termsFile, "utf8");
  const providers = config.providers.map((provider) => createProvider(provider, config));
  const relyingParty = relyingPartyOf(config.publicBaseUrl);
  const passkeys = relyingParty && createPasskeys(relyingParty, { ...config, database });
  const payments = await createPayments(config.payments, config);
  const tls = config.tlsDirectory === undefined ? undefined : await startTls(config.tlsDirectory, log);
  const serverFactory = tls && mutualTlsServer(tls);
  const app = await createApp({ ...config, terms, payments, passkeys, mailer, providers, database, reports, log, serverFactory });
  await app.listen(config.listen);
  const admin = await startAdmin({
    ...config.admin,
    metrics,
    notReadyBecause: () => (lifecycle.isStopping ? ["shutting down"] : []),
  });
  log.info({ listen: config.listen, admin: admin.port }, "ready");

  const budgets = startBudgetWatch({ ...config, database, mailer, log });
  lifecycle.onShutdown({ name: "stop checking budgets", deadlineMs: 5_000, run: () => budgets.stop() });
  const events = startEventWatch({ ...config, database, mailer, log });
  lifecycle.onShutdown({ name: "stop looking for webhook events", deadlineMs: 5_000, run: () => events.stop() });
  const deliveries = startDeliveries({ ...config, database, log });
  lifecycle.onShutdown({ name: "finish webhook deliveries", deadlineMs: 12_000, run: () => deliveries.stop() });
  const traceEvents = createTraceEvents(metrics);
  const traceWatch = startTraceWatch({ ...config, database, mailer, events: traceEvents, log });
  lifecycle.onShutdown({ name: "stop looking after trace destinations", deadlineMs: 5_000, run: () => traceWatch.stop() });
  const traceExports = startTraceExports({ ...config, database, events: traceEvents, log });
  lifecycle.onShutdown({ name: "finish batches of traces", deadlineMs: 5_000, run: () => traceExports.stop() });
  if (mailer !== undefined) {
    const lowBalances = startLowBalanceWatch({ ...config, database, mailer, log });
    lifecycle.onShutdown({ name: "stop looking for low balances", deadlineMs: 5_000, run: () => lowBalances.stop() });
  }
  const modelHours = startModelHoursWatch({ database, log });
  lifecycle.onShutdown({ name: "stop adding up the models' hours", deadlineMs: 5_000, run: () => modelHours.stop() });
  const batches = startBatchWatch({ ...config, database, log, metrics: createBatchMetrics(metrics) });
  lifecycle.onShutdown({ name: "stop working on batches", deadlineMs: 15_000, run: () => batches.stop() });
  if (payments !== undefined) {
    const autoTopUps = startAutoTopUp({ ...config, database, provider: payments, mailer, log });
    lifecycle.onShutdown({ name: "finish automatic top-ups", deadlineMs: 10_000, run: () => autoTopUps.stop() });
  }
  lifecycle.onShutdown({ name: "finish open pages", deadlineMs: 10_000, run: () => app.close() });
  lifecycle.onShutdown({ name: "stop looking for certificates", deadlineMs: 1_000, run: () => tls?.stop() });
  lifecycle.onShutdown({ name: "close the database", deadlineMs: 2_000, run: () => database.close() });
  if (replica !== undefined)
    lifecycle.onShutdown({ name: "close the database for reports", deadlineMs: 2_000, run: () => replica.close() });
  lifecycle.onShutdown({ name: "close the admin port", deadlineMs: 2_000, run: () => admin.close() });
  lifecycle.onShutdown({ name: "stop watching descriptors", deadlineMs: 1_000, run: () => descriptorWatch.stop() });
}

async function startTls(directory: string, log: Logger): Promise<TlsFiles> {
  return await startTlsFiles({
    directory,
    onFailure: (error) => log.error({ err: error }, "invalid certificates; keeping the last valid ones"),
    onRenewed: () => log.info("certificates renewed"),
  });
}
