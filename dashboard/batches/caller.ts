import type { FastifyInstance, FastifyRequest } from "fastify";
import { crossOriginHeaders } from "../../contract/cross-origin.ts";
import { checkAccountState, checkKeyState, checkSecret, notValid, readSentKey, unreadable } from "../../ledger/keys/check-key.ts";
import { findKey, type FoundKey } from "../../ledger/keys/find-key.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { createAddressSet } from "../../runtime/ip-network.ts";
import type { InFlight } from "../http/in-flight.ts";
import { isRead } from "../http/methods.ts";

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
    const key = await inFlight.identify(request, () => findSentKey(deps, request));
    const { origin } = request.headers;
    // Also if the key is refused: its pages may read why (docs/decisions/0077).
    if (origin !== undefined && key.found.allowedOrigins?.includes(origin) === true) reply.headers(crossOriginHeaders(origin));
    request.batchCaller = checkSentKey(deps, request, key);
  });
  scope.addHook("preHandler", async (request) => {
    // Uploads have turns of their own: they take as long as their sender likes.
    if (request.routeOptions.config.isUpload === true) return;
    await inFlight.enter(request, request.batchCaller?.accountId);
    if (request.batchCaller !== null && !isRead(request)) await checkCallerAgain(deps, request);
  });
}

/** While a body came, which may take minutes, the key may have been deleted, disabled or rotated (S25). @throws GatewayError. */
export async function checkCallerAgain(deps: CallerDeps, request: FastifyRequest): Promise<void> {
  checkSentKey(deps, request, await deps.inFlight.identify(request, () => findSentKey(deps, request)));
}

export function batchCallerOf({ batchCaller }: FastifyRequest): BatchCaller {
  if (batchCaller === null) throw new Error("This route has no caller.");
  return batchCaller;
}

interface SentKeyFound {
  secret: string;
  found: FoundKey;
}

async function findSentKey({ database, publicBaseUrl }: CallerDeps, request: FastifyRequest): Promise<SentKeyFound> {
  const keysUrl = keysUrlOf(publicBaseUrl);
  const { publicId, secret } = readSentKey(headersOf(request), keysUrl);
  const found = await findKey(database, publicId);
  if (found === undefined) throw notValid(keysUrl);
  if (found === "unreadable") throw unreadable("API key");
  return { secret, found };
}

function checkSentKey(
  { pepper, publicBaseUrl }: CallerDeps,
  request: FastifyRequest,
  { secret, found }: SentKeyFound,
): BatchCaller {
  const keysUrl = keysUrlOf(publicBaseUrl);
  const nowMs = Date.now();
  const isFromAllowed = () => createAddressSet(found.allowedAddresses ?? []).has(request.ip);
  checkSecret(found, { secret, pepper, nowMs, headers: headersOf(request), keysUrl, isFromAllowed });
  checkKeyState(found, { nowMs, keysUrl });
  checkAccountState(found);
  return { accountId: found.accountId, keyId: found.publicId };
}

function keysUrlOf(publicBaseUrl: string): string {
  return `${publicBaseUrl}/dashboard/keys`;
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
