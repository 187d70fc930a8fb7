import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { readInvitation } from "../../../ledger/people/invitations.ts";
import { signUp, signUpInvited, type Person } from "../../../ledger/people/persons.ts";
import { findVouched } from "../../../ledger/sign-in/vouched.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readQuery } from "../../http/form.ts";
import { begunCookie } from "../../oidc/begun.ts";
import { notBegunHere } from "../../oidc/failure.ts";
import { callbackPath, startPath } from "../../oidc/paths.ts";
import { checkProvider, domainOf, providerFor } from "../../oidc/provider-domains.ts";
import type { Arrived, Provider } from "../../oidc/provider.ts";
import { goTo, safeNext } from "../../http/reply.ts";
import { isFromOwnPage } from "../../session/csrf.ts";
import { createArrive } from "../../session/arrival.ts";
import { createEntry, invitationIn } from "./entry.ts";
import { checkSignUpAddress, checkSignUpOpen } from "../../config/sign-up-rules.ts";

interface Arrival {
  person: Person;
  /** The account in view. */
  accountId: string;
  action: "person.signed_in" | "person.signed_up";
  /** Path to go to. */
  next: string;
}

/** Sign-in and sign-up with another service. */
export function providerRoutes(app: FastifyInstance, deps: AppDeps, provider: Provider): void {
  const { database, publicBaseUrl, signUp: rules, providerDomains } = deps;
  const { id, hasSecondFactor } = provider;
  const arrive = createArrive(deps);
  const entry = createEntry(deps);
  const begunCookies = begunCookie(deps);

  app.get(startPath(id), async (request, reply) => {
    const next = safeNext(readQuery(request, "next"));
    if (request.visitor !== null) return goTo(reply, next);
    const { address, checks } = await provider.begin();
    begunCookies.set(reply, { provider: id, ...checks, next, isAsked: isFromOwnPage(request, publicBaseUrl) });
    return goTo(reply, address);
  });

  app.get(callbackPath(id), async (request, reply) => {
    const { provider: begunAt, next, isAsked, ...checks } = begunCookies.take(request, reply);
    if (begunAt !== id) throw notBegunHere();
    const invitation = invitationIn(next);
    if (invitation !== "" && !isAsked) throw notAsked();
    const arrived = await provider.finish(queryOf(request), checks);
    checkDomain(arrived);
    const { person, accountId, action, next: last } = (await arriveKnown(arrived, next)) ?? (await arriveNew(arrived, next));
    await arrive(request, reply, { person, accountId, action, hasSecondFactor, provider: id });
    return goTo(reply, last);
  });

  /** Before anything is linked or created. */
  function checkDomain({ email, organization }: Arrived): void {
    if (email === null) return;
    checkProvider(providerDomains, email, id);
    if (id === "google" && providerFor(providerDomains, email) === id && organization !== domainOf(email))
      throw notOfDomain(email);
  }

  async function arriveKnown(arrived: Arrived, next: string): Promise<Arrival | undefined> {
    const isAuthoritative = arrived.email !== null && providerFor(providerDomains, arrived.email) === id;
    const known = await findVouched(database, arrived, { isAuthoritative });
    if (known === undefined) return undefined;
    const { person, isLinked } = known;
    // Their address may be in another domain than the one that the provider reports now.
    checkProvider(providerDomains, person.email, id);
    if (isLinked)
      await noteAction(database, { accountId: null, personId: person.id, action: "person.linked", subject: person.email });
    const accountId = await entry.accountOf(person, invitationIn(next));
    return { person, accountId, action: "person.signed_in", next };
  }

  async function arriveNew({ identity, email, name }: Arrived, next: string): Promise<Arrival> {
    if (email === null) throw notVerified(provider.name);
    const invitation = invitationIn(next);
    const asked = { email, name, isEmailVerified: true, identity };
    if (invitation === "") {
      checkSignUpOpen(rules);
      checkSignUpAddress(rules, email);
      return { ...(await signUp(database, asked)), action: "person.signed_up", next };
    }
    const invitedTo = await readInvitation(database, invitation);
    const { person, accountId } = await signUpInvited(database, { ...asked, invitation });
    await entry.welcome(person, invitedTo);
    return { person, accountId, action: "person.signed_up", next: "/dashboard" };
  }
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split("?").slice(1).join("?"));
}

/** Only someone who has read the invitation joins. */
function notAsked(): GatewayError {
  return new GatewayError("invalid_request", "Open the link in the invitation itself, and choose there how to sign in.");
}

function notVerified(name: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `${name} has not verified your email address. Verify it there, then sign in again.`,
  );
}

function notOfDomain(email: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `This Google account does not belong to ${domainOf(email)}. Sign in to Google with the account of your organization.`,
  );
}
