import type { BatchContent } from "../../ledger/batches/content.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Uploads } from "./uploads.ts";

/** Dependencies of the endpoints for batches. */
export interface BatchDeps {
  database: Database;
  content: BatchContent;
  uploads: Uploads;
  /** Of the files, requests and results of all accounts. */
  maxBytes: number;
  publicBaseUrl: string;
}
