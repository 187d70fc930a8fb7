import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { startStack, type Stack } from "../../../local/stack.ts";
import { copyPostgresTemplate } from "../billing/postgres-template.ts";
import { findPrograms } from "../test-run/programs.ts";
import { openBooks, type TestProduct } from "./product.ts";

/** The account that `npm start` makes, with 5 USD. */
const DEMO = "demo";

/** EXTPROC_WORKERS=2 runs any test with so many processes of extproc. */
export const WORKERS = Number(process.env["EXTPROC_WORKERS"] ?? "1");

/** Nearly every test waits for a charge. */
export const SETTLE_EVERY_MS = 20;

/** The Models that `npm start` brings along. */
export const SAMPLE_MANIFESTS = path.join(import.meta.dirname, "../../../local/manifests");

/** The whole product on this machine, as `npm start` runs it, with eyes on its database. */
export interface TestStack extends Stack, Omit<TestProduct, keyof Stack> {}

export interface TestStackOptions {
  /** Beyond the 5 USD that the demo account starts with. */
  creditNanoUsd?: bigint;
  manifestsDirectory?: string;
  workers?: number;
  /** False where a part's end is the test's to bring about and to mend. */
  restartsParts?: boolean;
  /** Base URL of an OTLP collector. */
  tracesUrl?: string;
  /** Beside the test's own. */
  environment?: Readonly<Record<string, string>>;
  /** As `npm start` runs it: a database that syncs, and charges that gather as long as in production. For benches. */
  isMeasured?: boolean;
}

/** For tests that end processes, change settings or read what all files share; the others use `borrowStack`. */
export async function startTestStack(options: TestStackOptions = {}): Promise<TestStack> {
  const dataDirectory = await mkdtemp(path.join(tmpdir(), "model-gateway-stack-"));
  const { isMeasured = false } = options;
  if (!isMeasured) await copyPostgresTemplate(path.join(dataDirectory, "postgres"));
  const complaints: string[] = [];
  const stack = await startStack({
    port: 0,
    dataDirectory,
    programs: await findPrograms(),
    workers: options.workers ?? WORKERS,
    ...(isMeasured ? {} : { settleEveryMs: SETTLE_EVERY_MS }),
    ...(options.restartsParts === undefined ? {} : { restartsParts: options.restartsParts }),
    manifestsDirectory: options.manifestsDirectory ?? SAMPLE_MANIFESTS,
    environment: { ...process.env, ...options.environment, OTEL_EXPORTER_OTLP_ENDPOINT: options.tracesUrl },
    onComplaint: (part, message) => complaints.push(`${part}: ${message}`),
  });
  const books = await openBooks(stack, { accountId: DEMO, nameAccount: (name) => name });
  if (options.creditNanoUsd !== undefined) await books.grant(DEMO, options.creditNanoUsd);

  return {
    ...stack,
    ...books,
    // A part that was started again has another one.
    get pids() {
      return stack.pids;
    },
    accountId: DEMO,
    complaints,
    async stop() {
      await books.database.close();
      await stack.stop();
      await rm(dataDirectory, { recursive: true, force: true });
    },
  };
}
