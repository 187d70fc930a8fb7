import { billingUnavailable, databaseAway } from "../../ledger/postgres/away.ts";
import type { Reader } from "../../ledger/postgres/database.ts";
import { labelUsageByModelAndDay, usageByLabel } from "../../ledger/usage/label-reports.ts";
import { usageByModelAndDay } from "../../ledger/usage/reports.ts";
import { readLabelsOf } from "../../ledger/usage/request-labels.ts";
import { readRequest } from "../../ledger/usage/request-list.ts";
import { inTime } from "../../runtime/wait.ts";
import type { UsageReport } from "./usage.ts";

/** Envoy waits 10 s for this process, and then answers in its own words (operator/bootstrap/filters/extproc.ts). */
const WITHIN_MS = 8_000;

/** Rejects with a GatewayError `billing_unavailable` while the database is away or does not answer. */
export function createUsageReport(database: Reader): UsageReport {
  return {
    byModelAndDay: ({ keyId, fromDay, toDay }) => answered(usageByModelAndDay(database, { keyId, fromDay, toDay })),
    withLabel: (range) => answered(labelUsageByModelAndDay(database, range)),
    byLabel: (range) => answered(usageByLabel(database, range)),
    ofRequest: (request) => answered(readWithLabels(request)),
  };

  async function readWithLabels(request: { accountId: string; requestId: string }) {
    return readLabelsOf(database, request.accountId, await readRequest(database, request));
  }
}

async function answered<Result>(reading: Promise<Result>): Promise<Result> {
  try {
    return await inTime(reading, WITHIN_MS, () => billingUnavailable(new Error(`no answer within ${WITHIN_MS} ms`)));
  } catch (error) {
    throw databaseAway(error) ?? error;
  }
}
