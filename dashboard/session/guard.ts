import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../../ledger/database.ts";
import { listMemberships, type Role } from "../../ledger/people/members.ts";
import { findPerson } from "../../ledger/people/persons.ts";
import { findSession } from "../../ledger/people/sessions.ts";
import type { InFlight } from "../in-flight.ts";
import { sessionCookie } from "./cookie.ts";
import { checkForm, csrfToken } from "./csrf.ts";
import type { Member } from "./visitor.ts";

export interface GuardDeps {
  database: Database;
  publicBaseUrl: string;
  inFlight: InFlight;
}

/** Who has the session of this token; null: nobody, or they are in no account any more. */
export async function readVisitor(database: Database, token: string | undefined): Promise<Member | null> {
  if (token === undefined) return null;
  const session = await findSession(database, token);
  if (session === undefined) return null;
  const [person, memberships] = await Promise.all([
    findPerson(database, session.personId),
    listMemberships(database, session.personId),
  ]);
  const membership = memberships.find(({ accountId }) => accountId === session.accountId) ?? memberships[0];
  if (person === undefined || membership === undefined) return null;
  return { person, session, membership, memberships, csrf: csrfToken(token) };
}

/** Knows the visitor of each request, and refuses forms that no page of ours has sent. */
export function guard(app: FastifyInstance, { database, publicBaseUrl, inFlight }: GuardDeps): void {
  const cookies = sessionCookie(publicBaseUrl);
  app.decorateRequest("visitor", null);

  app.addHook("preHandler", async (request) => {
    if (request.routeOptions.config.isApi === true) return;
    const token = cookies.read(request);
    const visitor = await readVisitor(database, token);
    request.visitor = visitor;
    await inFlight.enter(request, visitor?.membership.accountId);
    const isForm = request.method !== "GET" && request.method !== "HEAD" && request.routeOptions.config.isWebhook !== true;
    if (isForm) checkForm(request, { publicBaseUrl, sessionToken: visitor === null ? undefined : token });
  });
}

const RANKS: Record<Role, number> = { viewer: 0, member: 1, owner: 2 };

/** May somebody of this role do what takes at least the other? */
export function isAtLeast(role: Role, least: Role): boolean {
  return RANKS[role] >= RANKS[least];
}

/** The page is for people who have signed in. */
export class SignInNeeded extends Error {}

/**
 * @throws SignInNeeded for a guest; GatewayError `permission_denied` for a member whose role is less.
 */
export function memberOf(request: FastifyRequest, least: Role = "viewer"): Member {
  const { visitor } = request;
  if (visitor === null) throw new SignInNeeded();
  if (!isAtLeast(visitor.membership.role, least))
    throw new GatewayError(
      "permission_denied",
      `Your role in this account is ${visitor.membership.role}: ask its owner to do this.`,
    );
  return visitor;
}

/**
 * For those who run this service.
 * @throws GatewayError `not_found` for everybody else: that there is such a page stays untold.
 */
export function adminOf({ visitor }: FastifyRequest): Member {
  if (visitor === null || !visitor.person.isAdmin) throw new GatewayError("not_found", NO_SUCH_PAGE);
  return visitor;
}

export const NO_SUCH_PAGE = "There is no such page. It may have been here once: start from the overview.";

declare module "fastify" {
  interface FastifyContextConfig {
    /** Sent by a machine, which proves itself in the body. */
    isWebhook?: boolean;
    /** Under /api/v1, which has a guard of its own (dashboard/api/caller.ts). */
    isApi?: boolean;
  }
}
