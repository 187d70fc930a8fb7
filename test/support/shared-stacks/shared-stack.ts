import { mkdir, mkdtemp, rename, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import process from "node:process";
import { startStack } from "../../../local/stack.ts";
import { copyPostgresTemplate } from "../billing/postgres-template.ts";
import { SETTLE_EVERY_MS, WORKERS } from "../stacks/stack.ts";
import { findPrograms } from "../test-run/programs.ts";
import type { Lendable } from "../test-run/pool.ts";
import type { LentStack } from "./lent.ts";

/** Starts the whole product with these Models, as `npm start` runs it. */
export async function startSharedStack(runDirectory: string, manifests: string): Promise<Lendable> {
  const root = await mkdtemp(path.join(runDirectory, "stack-"));
  const dataDirectory = path.join(root, "data");
  const manifestsDirectory = path.join(root, "manifests");
  const manifestsFile = path.join(manifestsDirectory, "models.yaml");
  await mkdir(dataDirectory);
  await mkdir(manifestsDirectory);
  await writeFile(manifestsFile, manifests);
  await copyPostgresTemplate(path.join(dataDirectory, "postgres"), runDirectory);
  const stack = await startStack({
    port: 0,
    dataDirectory,
    programs: await findPrograms(),
    workers: WORKERS,
    settleEveryMs: SETTLE_EVERY_MS,
    manifestsDirectory,
    environment: { ...process.env, OTEL_EXPORTER_OTLP_ENDPOINT: undefined },
    onComplaint: (part, message) => shared.onComplaint(`${part}: ${message}`),
  });
  const { baseUrl, apiKey, databaseUrl, simulatorUrl, envoyAdminUrl, extprocAdminUrl, xdsSocket, directory } = stack;
  const { logs, pepper } = directory;
  const addresses = { baseUrl, apiKey, databaseUrl, simulatorUrl, envoyAdminUrl, extprocAdminUrl, xdsSocket };
  const shared: Lendable = {
    lent: { ...addresses, manifestsFile, directory: { logs, pepper } } satisfies LentStack,
    onComplaint: () => undefined,
    async prepare(next) {
      const unfinished = path.join(root, "models.yaml.unfinished");
      await writeFile(unfinished, next);
      // The operator reads all Models or none.
      await rename(unfinished, manifestsFile);
    },
    async stop() {
      await stack.stop();
      await rm(root, { recursive: true, force: true });
    },
  };
  return shared;
}
