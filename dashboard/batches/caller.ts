import type { FastifyInstance, FastifyReply, FastifyRequest } from "fastify";
import { crossOriginHeaders } from "../../contract/cross-origin.ts";
import { checkAccountState, checkKeyState, checkSecret, notValid, readSentKey, unreadable } from "../../ledger/keys/check-key.ts";
import { findKey } from "../../ledger/keys/find-key.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { createAddressSet } from "../../runtime/ip-network.ts";
import type { InFlight } from "../http/in-flight.ts";

/** Whose files and batches a request is about. */
export interface BatchCaller {
  accountId: string;
  /** Public id of the key. */
  keyId: string;
}

export interface CallerDeps {
  database: Database;
  pepper: Buffer;
  publicBaseUrl: string;
  inFlight: InFlight;
}

/** Identifies the key of each request in this scope, by the database as it is now; refuses requests without one. */
export function recognizeKeys(scope: FastifyInstance, deps: CallerDeps): void {
  const { inFlight } = deps;
  scope.decorateRequest("batchCaller", null);
  scope.addHook("onRequest", async (request, reply) => {
    if (request.is404) return;
    request.batchCaller = await inFlight.identify(request, () => readCaller(deps, request, reply));
  });
  scope.addHook("preHandler", async (request) => {
    // Uploads have turns of their own: they take as long as their sender likes.
    if (request.routeOptions.config.isUpload !== true) await inFlight.enter(request, request.batchCaller?.accountId);
  });
}

export function batchCallerOf({ batchCaller }: FastifyRequest): BatchCaller {
  if (batchCaller === null) throw new Error("This route has no caller.");
  return batchCaller;
}

async function readCaller(
  { database, pepper, publicBaseUrl }: CallerDeps,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<BatchCaller> {
  const keysUrl = `${publicBaseUrl}/dashboard/keys`;
  const headers = headersOf(request);
  const { publicId, secret } = readSentKey(headers, keysUrl);
  const key = await findKey(database, publicId);
  if (key === undefined) throw notValid(keysUrl);
  if (key === "unreadable") throw unreadable("API key");
  const { origin } = request.headers;
  // Also if the key is refused: its pages may read why (docs/decisions/0077).
  if (origin !== undefined && key.allowedOrigins?.includes(origin) === true) reply.headers(crossOriginHeaders(origin));
  const nowMs = Date.now();
  const isFromAllowed = () => createAddressSet(key.allowedAddresses ?? []).has(request.ip);
  checkSecret(key, { secret, pepper, nowMs, headers, keysUrl, isFromAllowed });
  checkKeyState(key, { nowMs, keysUrl });
  checkAccountState(key);
  return { accountId: key.accountId, keyId: key.publicId };
}

/** As Envoy tells them to extproc. */
function headersOf({ headers, url }: FastifyRequest): ReadonlyMap<string, string> {
  const sent = Object.entries(headers).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)] as const]));
  return new Map([...sent, [":path", url]]);
}

declare module "fastify" {
  interface FastifyRequest {
    /** Of the endpoints for batches; null elsewhere. */
    batchCaller: BatchCaller | null;
  }
  interface FastifyContextConfig {
    /** The body is read as it arrives, however long that takes. */
    isUpload?: boolean;
  }
}
