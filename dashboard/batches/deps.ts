import type { FastifyRequest } from "fastify";
import type { BatchContent } from "../../ledger/batches/content.ts";
import type { BatchRoom } from "../../ledger/batches/room.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Uploads } from "./uploads.ts";

/** Dependencies of the endpoints for batches. */
export interface BatchDeps {
  database: Database;
  content: BatchContent;
  uploads: Uploads;
  /** For the files, requests and results of all accounts. */
  room: BatchRoom;
  publicBaseUrl: string;
  /** Of an upload, once its body has come. @throws GatewayError if its key may not be used any more. */
  checkCallerAgain(request: FastifyRequest): Promise<void>;
}
