import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import type { Database } from "../../ledger/postgres/database.ts";
import type { Mailer } from "../mail/letter.ts";
import { listMemberships } from "../../ledger/people/members.ts";
import { findPerson } from "../../ledger/people/persons.ts";
import { findSession } from "../../ledger/sign-in/sessions.ts";
import type { InFlight } from "../http/in-flight.ts";
import { isRead } from "../http/methods.ts";
import { isAllowed, type Permission } from "../../ledger/people/permissions.ts";
import { providerFor, type ProviderDomains } from "../oidc/provider-domains.ts";
import type { AdminSecondFactor } from "../config/second-factor-policy.ts";
import { sessionCookie } from "./cookie.ts";
import { checkForm, csrfToken } from "./csrf.ts";
import { canProveAddresses } from "./requirements.ts";
import { createDrafts } from "./draft.ts";
import { createToasts } from "./toast.ts";
import type { Member } from "./visitor.ts";

export interface GuardDeps {
  database: Database;
  publicBaseUrl: string;
  pepper: Buffer;
  inFlight: InFlight;
  mailer?: Mailer | undefined;
  /** Required if absent. */
  adminSecondFactor?: AdminSecondFactor | undefined;
  /** If absent, no domain is bound. */
  providerDomains?: ProviderDomains | undefined;
}

/** The person of this session token; null if there is none, or they have no account. */
export async function readVisitor(
  { database, mailer, adminSecondFactor = "required", providerDomains }: Omit<GuardDeps, "publicBaseUrl" | "pepper" | "inFlight">,
  token: string | undefined,
): Promise<Member | null> {
  if (token === undefined) return null;
  const session = await findSession(database, token);
  if (session === undefined) return null;
  const [person, memberships] = await Promise.all([
    findPerson(database, session.personId),
    listMemberships(database, session.personId),
  ]);
  const membership = memberships.find(({ accountId }) => accountId === session.accountId) ?? memberships[0];
  if (person === undefined || membership === undefined) return null;
  const onlyProvider = providerFor(providerDomains, person.email) ?? null;
  // Including sessions from before the domain was bound.
  if (onlyProvider !== null && session.provider !== onlyProvider) return null;
  const mustProveEmail = !person.isEmailVerified && canProveAddresses(mailer);
  const isFactorAsked = membership.requiresSecondFactor || (person.isAdmin && adminSecondFactor === "required");
  const mustProveFactor = isFactorAsked && !session.hasSecondFactor;
  return {
    person,
    session,
    membership,
    memberships,
    mustProveEmail,
    mustProveFactor,
    onlyProvider,
    csrf: csrfToken(token, membership.accountId),
    toast: null,
    draft: null,
  };
}

/** Identifies the visitor of each request, and rejects forms that none of our pages sent. */
export function guard(app: FastifyInstance, deps: GuardDeps): void {
  const { publicBaseUrl, inFlight } = deps;
  const cookies = sessionCookie(publicBaseUrl);
  const toasts = createToasts(app, deps);
  const drafts = createDrafts(app, deps);
  app.decorateRequest("visitor", null);

  app.addHook("preHandler", async (request) => {
    const { isApi, isAsset, isWebhook } = request.routeOptions.config;
    if (isApi === true || isAsset === true) return;
    const token = cookies.read(request);
    const identify = async () => {
      const known = token === undefined ? null : await inFlight.identify(request, () => readVisitor(deps, token));
      return known && { ...known, toast: toasts.read(request, known.person), draft: drafts.read(request, known.person) };
    };
    request.visitor = await identify();
    await inFlight.enter(request, request.visitor?.membership.accountId);
    const isForm = !isRead(request) && isWebhook !== true;
    // While it waited for its turn, the session may have ended, or its person been removed (S56).
    if (isForm && request.visitor !== null) request.visitor = await identify();
    const { visitor } = request;
    const session = visitor === null || token === undefined ? undefined : { token, accountId: visitor.membership.accountId };
    if (isForm) checkForm(request, { publicBaseUrl, session });
  });
}

/** Options of routes whose form is about the person, whatever account is in view. */
export const PERSONAL = { config: { isPersonal: true } } as const;

/** The same, for forms that set up a required second factor. */
export const BEFORE_FACTOR = { config: { isPersonal: true, isBeforeFactor: true } } as const;

/** The page requires a sign-in. */
export class SignInNeeded extends Error {}

/** The page requires a second factor. */
export class SecondFactorNeeded extends Error {}

/**
 * @throws SignInNeeded for a guest; SecondFactorNeeded if one is required and missing; GatewayError `permission_denied` for a
 * member whose role does not allow it.
 */
export function memberOf(request: FastifyRequest, permission: Permission = "see"): Member {
  const { visitor } = request;
  if (visitor === null) throw new SignInNeeded();
  if (visitor.mustProveFactor && request.routeOptions.config.isBeforeFactor !== true) throw new SecondFactorNeeded();
  if (!isAllowed(visitor.membership.role, permission))
    throw new GatewayError(
      "permission_denied",
      `Your role in this account is ${visitor.membership.role}, which does not allow this. Ask an owner of the account.`,
    );
  return visitor;
}

/**
 * For administrators of this service.
 * @throws GatewayError `not_found` for everybody else, so that the page's existence is not revealed; SecondFactorNeeded.
 */
export function adminOf({ visitor }: FastifyRequest): Member {
  if (visitor === null || !visitor.person.isAdmin) throw new GatewayError("not_found", NO_SUCH_PAGE);
  if (visitor.mustProveFactor) throw new SecondFactorNeeded();
  return visitor;
}

export const NO_SUCH_PAGE = "This page does not exist, or you do not have access to it.";

declare module "fastify" {
  interface FastifyContextConfig {
    isPersonal?: boolean;
    /** Open to people who lack a required second factor. */
    isBeforeFactor?: boolean;
    /** Sent by a machine, which authenticates in the body. */
    isWebhook?: boolean;
    /** Under /api/v1, which has its own guard (dashboard/api/caller.ts). */
    isApi?: boolean;
  }
}
