import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import { findManagementToken, isManagementToken, MANAGEMENT_TOKEN_LENGTH } from "../../ledger/people/management-tokens.ts";
import type { Role } from "../../ledger/people/members.ts";
import type { OrOther } from "../../ledger/postgres/known-or-other.ts";
import { isRead } from "../http/methods.ts";
import { sessionCookie } from "../session/cookie.ts";
import { isFromOwnPage } from "../session/csrf.ts";
import { isProven } from "../session/fresh.ts";
import { isAllowed, PERMISSIONS, type Permission } from "../../ledger/people/permissions.ts";
import { readVisitor, type GuardDeps } from "../session/guard.ts";

/** The account that a request is about, and what the caller may do there. */
export interface Caller {
  /** Distinguishes callers; not secret. */
  id: string;
  accountId: string;
  role: OrOther<Role>;
  /** null: the caller is a token. */
  personId: string | null;
  /** null: the caller is a person, from a page. */
  tokenId: string | null;
  /** An administrator of the service, or a token of one that may read the service's figures. */
  readsService: boolean;
  /** See Member; the creator of a token has shown a second factor. */
  mustProveEmail: boolean;
  /** A token, or a person who has proved who they are recently, as pages ask for it. */
  isProven: boolean;
}

const WHERE = "Create a management token in the dashboard and send it as `Authorization: Bearer mgmt_…`.";

/** Identifies the caller of each request in this scope; refuses requests without one before anything else. */
export function recognizeCallers(scope: FastifyInstance, deps: GuardDeps): void {
  const { database, publicBaseUrl, inFlight } = deps;
  const cookies = sessionCookie(publicBaseUrl);
  scope.decorateRequest("caller", null);

  async function identify(request: FastifyRequest): Promise<Caller> {
    const credential = readCredential(request);
    return inFlight.identify(request, () =>
      credential === undefined
        ? callerOfSession(deps, { request, token: cookies.read(request) })
        : callerOfToken(database, credential),
    );
  }

  scope.addHook("onRequest", async (request) => {
    if (request.is404 || request.routeOptions.config.isOpen === true) return;
    request.caller = await identify(request);
  });
  scope.addHook("preHandler", async (request) => {
    // After the body has arrived, so that a slow sender does not occupy a turn.
    await inFlight.enter(request, request.caller?.accountId);
    // Until then, the token may have been revoked, or its person removed (S56).
    if (request.caller !== null && !isRead(request)) request.caller = await identify(request);
  });
}

/** @throws GatewayError `permission_denied` for a caller whose role does not allow it. */
export function callerOf({ caller }: FastifyRequest, permission: Permission = "see"): Caller {
  if (caller === null) throw refused(WHERE);
  if (!isAllowed(caller.role, permission)) {
    const { least } = PERMISSIONS[permission];
    throw new GatewayError(
      "permission_denied",
      `This requires the ${least} role or higher; the caller has the ${caller.role} role.`,
    );
  }
  return caller;
}

/**
 * For what pages ask a recent sign-in for: an unattended browser must not be enough here either.
 * @throws GatewayError as `callerOf`; `permission_denied` for a session whose person proved who they are too long ago.
 */
export function provenCallerOf(request: FastifyRequest, permission: Permission): Caller {
  const caller = callerOf(request, permission);
  if (!caller.isProven)
    throw new GatewayError(
      "permission_denied",
      "This requires a recent sign-in. Do it in the dashboard, or send a management token.",
    );
  return caller;
}

/** @throws GatewayError `permission_denied` for callers that may not read figures of the whole service. */
export function adminCallerOf(request: FastifyRequest): Caller {
  const caller = callerOf(request);
  if (!caller.readsService)
    throw new GatewayError(
      "permission_denied",
      "This requires an administrator of the service, or a token that an administrator created with access to the service's figures.",
    );
  return caller;
}

/** The credential in a header; undefined if there is none, so a session cookie may count. */
function readCredential({ headers }: FastifyRequest): string | undefined {
  const { authorization, "x-api-key": apiKey } = headers;
  if (authorization === undefined) return typeof apiKey === "string" ? apiKey : undefined;
  return /^Bearer +(\S+)$/i.exec(authorization)?.[1] ?? "";
}

async function callerOfToken(database: Database, credential: string): Promise<Caller> {
  const mistake = explainMistake(credential);
  if (mistake !== undefined) throw refused(mistake);
  const token = await findManagementToken(database, credential);
  if (token === undefined) throw refused(`This token is not valid: it was revoked, has expired, or never existed. ${WHERE}`);
  const { id, accountId, role, readsService } = token;
  return { id, accountId, role, personId: null, tokenId: id, readsService, mustProveEmail: false, isProven: true };
}

/** Of a credential that never was a token; undefined if only the database can tell. */
function explainMistake(credential: string): string | undefined {
  if (credential === "") return `The \`authorization\` header contains no token. ${WHERE}`;
  if (credential.startsWith("sk-mg-"))
    return `This is an API key, which can only call models. ${WHERE} To call models, leave \`/api\` out of the base URL.`;
  if (!isManagementToken(credential)) return `This is not a management token. ${WHERE}`;
  const { length } = credential;
  if (length === MANAGEMENT_TOKEN_LENGTH) return undefined;
  return `This token has ${length} characters instead of ${MANAGEMENT_TOKEN_LENGTH}. Copy all of it.`;
}

async function callerOfSession(
  deps: GuardDeps,
  { request, token }: { request: FastifyRequest; token: string | undefined },
): Promise<Caller> {
  const { publicBaseUrl } = deps;
  const visitor = await readVisitor(deps, token);
  if (visitor === null) throw refused(`Authentication required. ${WHERE}`);
  // A browser sends its cookies with other sites' requests too, but not a program's own header.
  if (!isRead(request) && !(isFromOwnPage(request, publicBaseUrl) && isJson(request)))
    throw new GatewayError("permission_denied", "With a session cookie, only pages of this dashboard can send this, as JSON.");
  if (visitor.mustProveFactor)
    throw new GatewayError(
      "permission_denied",
      "This requires two-factor authentication. Sign in to the dashboard to set it up.",
    );
  const { person, session, membership, mustProveEmail } = visitor;
  const { accountId, role } = membership;
  const caller = { id: session.id, accountId, role, personId: person.id, tokenId: null, mustProveEmail };
  return { ...caller, readsService: person.isAdmin, isProven: isProven(visitor) };
}

function isJson({ headers, method }: FastifyRequest): boolean {
  const type = headers["content-type"];
  return type === undefined ? method === "DELETE" : /^application\/json(;|$)/i.test(type);
}

function refused(message: string): GatewayError {
  return new GatewayError("invalid_api_key", message, { headers: { "www-authenticate": "Bearer" } });
}

declare module "fastify" {
  interface FastifyRequest {
    /** Of the management API; null elsewhere. */
    caller: Caller | null;
  }
  interface FastifyContextConfig {
    /** Public; needs no token. */
    isOpen?: boolean;
  }
}
