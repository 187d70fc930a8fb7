import { Counter, Gauge, type Registry } from "prom-client";
import { PROVIDER_KEY_STATES, type ProviderKeyState } from "../contract/provider-key.ts";
import type { PublishResult } from "../ledger/models/catalogue.ts";
import { describeUnusableRoot, type UnusableRoot } from "../runtime/extra-roots.ts";
import type { Logger } from "../runtime/log.ts";
import { createOutage } from "../runtime/outage.ts";
import { describeRefusal, type Refusal } from "./source/source.ts";

/** One function per business event; each writes its log line and counts. Labels are closed sets. */
export interface OperatorEvents {
  resourceRefused(refusal: Refusal): void;
  /** Everything in a file of manifests is valid that was not when it was last read. */
  fileRecovered(recovery: { file: string }): void;
  /** A Model that cannot be served as written, with the reason; reported when it begins or changes. */
  modelRefused(complaint: { key: string; line: string }): void;
  modelRecovered(recovery: { key: string; line: string }): void;
  /** Logged when it begins, once a minute while it lasts, and when it is over. */
  sourceUnreadable(failure: { source: string; error: unknown }): void;
  sourceReadable(): void;
  envoyConnected(envoy: { node: string; connected: number }): void;
  envoyDisconnected(envoy: { node: string; connected: number }): void;
  /** An Envoy rejected a push; its message names the cluster. */
  configurationRejected(rejection: { node: string; typeUrl: string; message: string }): void;
  envoysLate(envoys: { nodes: readonly string[]; waitedMs: number }): void;
  published(result: PublishResult & { version: string; models: number; envoys: number }): void;
  /** Those of the administrator's trusted authorities that model servers are not verified against. Logged when it changes. */
  rootsUnusable(roots: readonly UnusableRoot[]): void;
  /** The TLS files of this server cannot be used. */
  certificatesUnusable(failure: { error: unknown }): void;
  certificatesRenewed(): void;
  /** A part of this release has a new certificate from its authority. */
  internalCertificateIssued(issued: { secret: string; why: string }): void;
  internalCertificateEnd(certificate: { secret: string; endMs: number }): void;
  /** The certificates of this release's parts cannot be maintained. */
  internalCertificatesStuck(failure: { error: unknown }): void;
  /** Logged as `sourceUnreadable` is; counted each time. */
  rolloutFailed(failure: { error: unknown; retryMs: number }): void;
  /** Accounts' own keys for providers cannot be read, or can again. Logged as `sourceUnreadable` is. */
  providerKeysUnreadable(failure: { error: unknown }): void;
  providerKeysReadable(): void;
  /** Envoys have those that are active. Logged when the number of any state changes. */
  providerKeysServed(keys: readonly { state: ProviderKeyState }[]): void;
  /** Whether or not it changed anything. */
  rolloutSucceeded(): void;
}

export function createOperatorEvents({ log, metrics }: { log: Logger; metrics: Registry }): OperatorEvents {
  const registers = [metrics];
  const refusals = new Counter({
    name: "gateway_operator_refusals_total",
    help: "Rejected resources.",
    labelNames: ["kind"],
    registers,
  });
  const envoys = new Gauge({
    name: "gateway_operator_envoys",
    help: "Envoys connected to receive their configuration.",
    registers,
  });
  const rejections = new Counter({
    name: "gateway_operator_rejections_total",
    help: "Configuration pushes that an Envoy rejected.",
    registers,
  });
  const acknowledgementTimeouts = new Counter({
    name: "gateway_operator_acknowledgement_timeouts_total",
    help: "Configuration pushes that an Envoy did not acknowledge in time.",
    registers,
  });
  const unusableRoots = new Gauge({
    name: "gateway_operator_unusable_roots",
    help: "Certificates in NODE_EXTRA_CA_CERTS (the chart's trustedCa) that model servers are not verified against.",
    registers,
  });
  const models = new Gauge({ name: "gateway_operator_models", help: "Models in the published catalogue.", registers });
  const rollouts = new Counter({
    name: "gateway_operator_rollouts_total",
    help: "Attempts to apply the resources, by outcome.",
    labelNames: ["outcome"],
    registers,
  });

  const certificateEnds = new Gauge({
    name: "gateway_operator_internal_certificate_end_timestamp_seconds",
    help: "When the certificate of each component expires, by Secret.",
    labelNames: ["secret"],
    registers,
  });
  const unreadable = createOutage({
    log,
    failing: "failed to read the Models; those read last stay in force",
    over: "the Models are readable again",
  });
  const failingRollout = createOutage({
    log,
    failing: "failed to apply the resources; retrying",
    over: "resources can be applied again",
  });

  const providerKeys = new Gauge({
    name: "gateway_operator_provider_keys",
    help: "Provider keys of accounts, by state.",
    labelNames: ["state"],
    registers,
  });
  const unreadableKeys = createOutage({
    log,
    failing: "failed to read accounts' provider keys; keeping those that were read last",
    over: "accounts' provider keys are readable again",
  });
  let keyCounts = "";
  let knownRoots: readonly string[] = [];

  return {
    resourceRefused(refusal) {
      refusals.inc({ kind: "resource" });
      log.warn({ origin: refusal.origin, line: refusal.line }, describeRefusal(refusal));
    },
    modelRefused({ key, line }) {
      refusals.inc({ kind: "model" });
      log.warn({ model: key }, line);
    },
    fileRecovered({ file }) {
      log.info({ origin: file, isRecovery: true }, `${file} is valid again`);
    },
    modelRecovered({ key, line }) {
      log.info({ model: key, isRecovery: true }, line);
    },
    sourceUnreadable({ source, error }) {
      unreadable.failed(error, { source });
    },
    sourceReadable: () => unreadable.over(),
    envoyConnected({ node, connected }) {
      envoys.set(connected);
      log.info({ node, connected }, "an Envoy connected");
    },
    envoyDisconnected({ node, connected }) {
      envoys.set(connected);
      log.info({ node, connected }, "an Envoy disconnected");
    },
    configurationRejected({ node, typeUrl, message }) {
      rejections.inc();
      log.warn({ node, typeUrl }, `Envoy ${node} rejected a configuration: ${message}`);
    },
    envoysLate({ nodes, waitedMs }) {
      acknowledgementTimeouts.inc(nodes.length);
      log.warn({ nodes, waitedMs }, "an Envoy did not confirm its configuration in time; publishing the catalogue without it");
    },
    published(result) {
      rollouts.inc({ outcome: "published" });
      models.set(result.models);
      log.info({ ...result }, "resources applied");
    },
    rootsUnusable(roots) {
      unusableRoots.set(roots.length);
      const sentences = roots.map(describeUnusableRoot);
      for (const sentence of sentences) if (!knownRoots.includes(sentence)) log.warn(sentence);
      knownRoots = sentences;
    },
    certificatesUnusable({ error }) {
      log.error({ err: error }, "invalid certificates; keeping the last valid ones");
    },
    certificatesRenewed() {
      log.info("certificates renewed");
    },
    internalCertificateIssued({ secret, why }) {
      log.info({ secret, why }, `the certificate in the Secret ${secret} was replaced: ${why}`);
    },
    internalCertificateEnd({ secret, endMs }) {
      certificateEnds.set({ secret }, endMs / 1000);
    },
    internalCertificatesStuck({ error }) {
      log.error({ err: error }, "failed to check or renew the internal certificates; retrying");
    },
    providerKeysUnreadable({ error }) {
      unreadableKeys.failed(error);
    },
    providerKeysReadable: () => unreadableKeys.over(),
    providerKeysServed(keys) {
      const counts = Object.fromEntries(
        PROVIDER_KEY_STATES.map((state) => [state, keys.filter((key) => key.state === state).length]),
      );
      for (const [state, count] of Object.entries(counts)) providerKeys.set({ state }, count);
      const shown = JSON.stringify(counts);
      if (shown === keyCounts || (keyCounts === "" && keys.length === 0)) return;
      keyCounts = shown;
      log.info({ ...counts }, "provider keys applied");
    },
    rolloutFailed({ error, retryMs }) {
      rollouts.inc({ outcome: "failed" });
      failingRollout.failed(error, { retryMs });
    },
    rolloutSucceeded: () => failingRollout.over(),
  };
}
