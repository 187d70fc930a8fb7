import type { FastifyReply, FastifyRequest } from "fastify";
import { noteAction, type Action } from "../../ledger/people/audit.ts";
import type { Person } from "../../ledger/people/persons.ts";
import { endSession, startSession } from "../../ledger/sign-in/sessions.ts";
import type { AppDeps } from "../app-deps.ts";
import type { ProviderId } from "../oidc/config.ts";
import { checkProvider } from "../oidc/provider-domains.ts";
import { createNotifier } from "../mail/notifier.ts";
import { newBrowserLetter, newPasswordLetter } from "../mail/security-letters.ts";
import { browserName } from "../views/people/browser-name.ts";
import { sessionCookie } from "./cookie.ts";
import { knownBrowsers } from "./known-browser.ts";

/** Someone who has proved their identity. */
interface Arrival {
  person: Person;
  /** The account in view. */
  accountId: string;
  action: "person.signed_in" | "person.signed_up" | "person.reset_password";
  /** Whether they used a second factor. */
  hasSecondFactor?: boolean;
  /** The provider that confirmed them; absent if none. */
  provider?: ProviderId;
  /** How long ago they proved who they are; null: nobody knows. Just now if absent. */
  provenMsAgo?: number | null;
}

/**
 * Starts a session, however its person signed in.
 * @throws GatewayError `permission_denied` for an address that must sign in through another provider.
 */
export type Arrive = (request: FastifyRequest, reply: FastifyReply, arrival: Arrival) => Promise<void>;

export function createArrive(deps: AppDeps): Arrive {
  const { database, publicBaseUrl, providerDomains } = deps;
  const cookies = sessionCookie(publicBaseUrl);
  const browsers = knownBrowsers(deps);
  const notify = createNotifier(deps);

  return async (request, reply, { person, accountId, action, hasSecondFactor = false, provider = null, provenMsAgo = 0 }) => {
    checkProvider(providerDomains, person.email, provider ?? undefined);
    // An earlier session ends, so a session planted in this browser is worthless afterwards.
    if (request.visitor !== null) await endSession(database, request.visitor.session);
    const userAgent = request.headers["user-agent"] ?? "";
    const session = { personId: person.id, accountId, userAgent, hasSecondFactor, provider, provenMsAgo };
    cookies.set(reply, await startSession(database, session));
    await noteAction(database, noteOf({ person, accountId, action }));
    const isKnown = browsers.read(request)?.personIds.includes(person.id) === true;
    browsers.remember(request, reply, person.id);
    if (action === "person.reset_password") notify(newPasswordLetter({ person, publicBaseUrl }));
    if (action !== "person.signed_in" || isKnown) return;
    notify(newBrowserLetter({ person, browser: browserName(userAgent), address: request.ip, at: new Date(), publicBaseUrl }));
  };
}

/** A sign-up is logged for the account, too. */
function noteOf({ person, accountId, action }: Arrival): Action {
  return { accountId: action === "person.signed_up" ? accountId : null, personId: person.id, action, subject: person.email };
}
