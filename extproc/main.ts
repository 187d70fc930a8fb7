import * as z from "zod";
import { deprecatedInUse, orExit, portVariable, readEnvOrExit } from "../runtime/env.ts";
import { trustExtraRoots } from "../runtime/extra-roots.ts";
import { createLifecycle, exitOnSignals } from "../runtime/lifecycle.ts";
import { createGatheringLog } from "../runtime/log.ts";
import { TRUSTED_PROXY_VARIABLES, trustedProxies } from "../runtime/trusted-proxies.ts";
import { parseNanoUsd } from "../ledger/money.ts";
import { DATABASE_VARIABLES, databaseUrl } from "../ledger/postgres/database-url.ts";
import { PROMPT_LOG_VARIABLES } from "../contract/prompt-log.ts";
import { ACCESS_LOG_CHOICES } from "./access-log.ts";

const usdVariable = z
  .string()
  .regex(/^\d+(\.\d{1,9})?$/, "must be an amount such as 0.05")
  .transform(parseNanoUsd);
const DEPRECATED_NAMES = {
  LEASE_MAX_USD: "LEASE_MOST_USD",
  LEASE_MIN_USD: "LEASE_LEAST_USD",
  MAX_BODY_MIB: "MOST_BODY_MIB",
  MAX_OPEN_REQUESTS: "MOST_OPEN_REQUESTS",
};
const environment = readEnvOrExit(
  {
    ...DATABASE_VARIABLES,
    ...TRUSTED_PROXY_VARIABLES,
    ...PROMPT_LOG_VARIABLES,
    // One worker for each address.
    EXTPROC_LISTEN: z.string().min(1).default("127.0.0.1:9002"),
    // Where Envoy accepts streams that this process may answer before their model server does: `host:port` or `unix:/path`.
    EARLY_ANSWERS_ADDRESS: z.string().min(1).optional(),
    // Where Envoy accepts the requests of batches, in the same form; without it, this process sends none.
    BATCHES_ADDRESS: z.string().min(1).optional(),
    // Set by the supervisor: the number of this worker.
    WORKER: z.coerce.number().int().nonnegative().optional(),
    ADMIN_HOST: z.string().default("127.0.0.1"),
    ADMIN_PORT: portVariable.default(9003),
    KEY_PEPPER: z.base64().min(44, "must be at least 32 random bytes in base64"),
    PUBLIC_BASE_URL: z.url(),
    JOURNAL_DIRECTORY: z.string().min(1),
    LEASE_SECONDS: z.coerce.number().min(10).default(90),
    LEASE_MIN_USD: usdVariable.default(50_000_000n),
    LEASE_MAX_USD: usdVariable.default(5_000_000_000n),
    // Charges of this period are written to Postgres in one batch.
    SETTLE_EVERY_MS: z.coerce.number().int().min(1).max(10_000).default(500),
    USAGE_RETENTION_DAYS: z.coerce.number().int().min(1).optional(),
    MAX_BODY_MIB: z.coerce.number().int().min(64).max(65_536).default(512),
    MAX_STORED_MIB: z.coerce.number().int().min(64).max(16_777_216).default(10_240),
    MAX_OPEN_REQUESTS: z.coerce.number().int().min(1).max(10_000).default(4_000),
    DRAIN_SECONDS: z.coerce.number().nonnegative().default(10),
    LOG_LEVEL: z.string().default("info"),
    // Envoy's target for spans: here it only shows whether there are any.
    OTEL_EXPORTER_OTLP_ENDPOINT: z.url().optional(),
    ACCESS_LOG: z.enum(ACCESS_LOG_CHOICES).default("all"),
  },
  process.env,
  DEPRECATED_NAMES,
);
const addresses = environment.EXTPROC_LISTEN.split(",");
const worker = environment.WORKER;
const admin = { host: environment.ADMIN_HOST, port: environment.ADMIN_PORT };
const counted = createGatheringLog({ process: "extproc", level: environment.LOG_LEVEL, worker });
const lifecycle = createLifecycle(counted.log);
exitOnSignals(lifecycle);
// Each worker reads them; one process tells.
trustExtraRoots(process.env, (sentence) => worker === undefined && counted.log.warn(sentence));
if (worker === undefined) {
  for (const { name, deprecatedName } of deprecatedInUse(process.env, DEPRECATED_NAMES))
    counted.log.warn({ variable: deprecatedName, replacement: name }, "deprecated environment variable");
}

if (addresses.length > 1 && worker === undefined) await supervise();
else await serve();

/** Only the needed modules are loaded: the supervisor carries no request. */
async function supervise(): Promise<void> {
  const { startSupervisor } = await import("./workers/supervisor.ts");
  await startSupervisor(
    {
      // This file, or the bundle that it became.
      program: import.meta.filename,
      environment: process.env,
      workers: addresses.length,
      admin,
      drainMs: environment.DRAIN_SECONDS * 1000,
    },
    { ...counted, lifecycle },
  );
}

async function serve(): Promise<void> {
  const { startExtproc } = await import("./extproc.ts");
  await startExtproc(
    {
      databaseUrl: databaseUrl(environment),
      listen: addresses[worker ?? 0] ?? "",
      earlyAnswersAddress: environment.EARLY_ANSWERS_ADDRESS ?? null,
      batchesAddress: environment.BATCHES_ADDRESS ?? null,
      admin: worker === undefined ? admin : "supervisor",
      worker: { number: worker ?? 0, of: addresses.length },
      pepper: Buffer.from(environment.KEY_PEPPER, "base64"),
      publicBaseUrl: environment.PUBLIC_BASE_URL.replace(/\/+$/, ""),
      journalDirectory: environment.JOURNAL_DIRECTORY,
      lease: {
        ttlMs: environment.LEASE_SECONDS * 1000,
        minNanoUsd: environment.LEASE_MIN_USD,
        maxNanoUsd: environment.LEASE_MAX_USD,
      },
      settleEveryMs: environment.SETTLE_EVERY_MS,
      usageRetentionDays: environment.USAGE_RETENTION_DAYS ?? null,
      maxOpenRequests: environment.MAX_OPEN_REQUESTS,
      maxBodyBytes: environment.MAX_BODY_MIB * 1024 * 1024,
      maxStoredBytes: environment.MAX_STORED_MIB * 1024 * 1024,
      maxPromptLogBytes: environment.MAX_PROMPT_LOG_MIB * 1024 * 1024,
      accessLog: environment.ACCESS_LOG,
      trustedProxies: orExit(() => trustedProxies(environment)),
      isTraced: environment.OTEL_EXPORTER_OTLP_ENDPOINT !== undefined,
      drainMs: environment.DRAIN_SECONDS * 1000,
    },
    { ...counted, lifecycle },
  );
}
