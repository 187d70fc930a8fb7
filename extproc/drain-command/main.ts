import process from "node:process";
import * as z from "zod";
import { drainEnvoy, resumeEnvoy } from "../../runtime/envoy-drain.ts";
import { deprecatedInUse, portVariable, readEnvOrExit } from "../../runtime/env.ts";
import { createLog } from "../../runtime/log.ts";

const RESUME_WITHIN_MS = 60_000;

/**
 * Runs before this container is stopped: Envoy lets go of its clients while extproc still serves them. With the word `resume` it
 * runs when the container starts, because it may have been stopped alone.
 */
const DEPRECATED_NAMES = { ENVOY_DRAIN_MIN_SECONDS: "ENVOY_DRAIN_LEAST_SECONDS" };
const environment = readEnvOrExit(
  {
    ENVOY_ADMIN_PORT: portVariable.default(9901),
    ENVOY_DRAIN_MIN_SECONDS: z.coerce.number().nonnegative().default(10),
    ENVOY_DRAIN_SECONDS: z.coerce.number().nonnegative(),
    LOG_LEVEL: z.string().default("info"),
  },
  process.env,
  DEPRECATED_NAMES,
);
const adminUrl = `http://127.0.0.1:${environment.ENVOY_ADMIN_PORT}`;
const log = createLog({ process: "drain", level: environment.LOG_LEVEL });
if (process.argv[2] === "resume") {
  // Kubernetes starts a container again if its first hook fails.
  if (!(await resumeEnvoy(adminUrl, { maxMs: RESUME_WITHIN_MS }))) {
    log.error({ seconds: RESUME_WITHIN_MS / 1000 }, "Envoy does not respond: it stays drained, and its pod unready");
    process.exitCode = 1;
  }
} else {
  for (const { name, deprecatedName } of deprecatedInUse(process.env, DEPRECATED_NAMES))
    log.warn({ variable: deprecatedName, replacement: name }, "deprecated environment variable");
  const running = await drainEnvoy(adminUrl, {
    minMs: environment.ENVOY_DRAIN_MIN_SECONDS * 1000,
    maxMs: environment.ENVOY_DRAIN_SECONDS * 1000,
  });
  if (running === undefined) log.warn("Envoy does not respond: nothing to drain");
  else log.info({ running }, "drained");
}
