import process from "node:process";
import * as z from "zod";

const reportSchema = z.object({
  userLimits: z.object({ open_files: z.object({ hard: z.union([z.number(), z.literal("unlimited")]) }) }),
});

/** Envoy's own: listeners, logs, extproc, the operator, the dashboard, and connections to name servers. */
const RESERVED = 256;
const MAX_CONNECTIONS = 50_000;
const FEWEST_CONNECTIONS = 16;

/**
 * How many clients Envoy may hold at once with this many file descriptors. Each may use a second one, to a model server. Further
 * clients are refused; without descriptors they would wait endlessly.
 */
export function connectionsWithin(descriptors: number): number {
  const connections = Math.floor((descriptors - RESERVED) / 2);
  return Math.max(FEWEST_CONNECTIONS, Math.min(MAX_CONNECTIONS, connections));
}

/**
 * File descriptors that a process started by this one may open: Envoy raises its own limit to that. Infinity if there is no
 * limit.
 */
export function descriptorLimit(): number {
  // Resolving the names of open connections may take seconds.
  Object.assign(process.report, { excludeNetwork: true });
  const { hard } = reportSchema.parse(process.report.getReport()).userLimits.open_files;
  return hard === "unlimited" ? Infinity : hard;
}
