import { MONOTONIC } from "../../runtime/clock.ts";
import { createOutage } from "../../runtime/outage.ts";
import type { Logger } from "../../runtime/log.ts";
import type { Database, Reader } from "./database.ts";
import { isStatementTimeout } from "./postgres-error.ts";

export interface ReportsOptions {
  /** The primary: writable and always current. */
  primary: Database;
  /** A streaming replica of it. If absent, reports are read from the primary. */
  replica?: Database | undefined;
  log: Logger;
  clock?: { nowMs(): number };
}

/** After a failure: an unreachable replica takes seconds to fail, and each page would wait for that. */
const PRIMARY_FOR_MS = 10_000;

/**
 * Reports are read from the replica, and from the primary while the replica fails. They are older than the ledger by the
 * replica's lag. A statement that takes too long is not repeated: it would take as long on the primary.
 */
export function createReports({ primary, replica, log, clock = MONOTONIC }: ReportsOptions): Reader {
  if (replica === undefined) return primary;
  const outage = createOutage({
    log,
    failing: "the database for reports failed: reports are read from the primary",
    over: "reports are read from the database for reports again",
    clock,
  });
  let failedMs = -Infinity;
  return {
    async query(query) {
      if (clock.nowMs() - failedMs < PRIMARY_FOR_MS) return await primary.query(query);
      try {
        const rows = await replica.query(query);
        outage.over();
        return rows;
      } catch (error) {
        // A replica ends statements with another code if they keep it from following the primary.
        if (isStatementTimeout(error)) throw error;
        failedMs = clock.nowMs();
        outage.failed(error);
        return await primary.query(query);
      }
    },
  };
}
