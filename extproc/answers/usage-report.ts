import { databaseAway } from "../../ledger/postgres/away.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { labelUsageByModelAndDay, usageByLabel } from "../../ledger/usage/label-reports.ts";
import { usageByModelAndDay } from "../../ledger/usage/reports.ts";
import { readLabelsOf } from "../../ledger/usage/request-labels.ts";
import { readRequest } from "../../ledger/usage/request-list.ts";
import type { UsageReport } from "./usage.ts";

/** Rejects with a GatewayError `billing_unavailable` while the database is away. */
export function createUsageReport(database: Database): UsageReport {
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
    return await reading;
  } catch (error) {
    throw databaseAway(error) ?? error;
  }
}
