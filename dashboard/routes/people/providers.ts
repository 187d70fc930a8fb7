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
import { isRecent } from "../../session/fresh.ts";
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
    const isAsked = isFromOwnPage(request, publicBaseUrl);
    const isAgain = readQuery(request, "again") === "yes";
    if (request.visitor !== null && !isAgain) return goTo(reply, next);
    const { address, checks } = await provider.begin({ isAgain });
    begunCookies.set(reply, { provider: id, ...checks, next, isAsked, ...(isAgain ? { isAgain } : {}) });
    return goTo(reply, address);
  });

  app.get(callbackPath(id), async (request, reply) => {
    const { provider: begunAt, next, isAsked, isAgain = false, ...checks } = begunCookies.take(request, reply);
    if (begunAt !== id) throw notBegunHere();
    const invitation = invitationIn(next);
    if (invitation !== "" && !isAsked) throw notAsked();
    const arrived = await provider.finish(queryOf(request), checks);
    checkDomain(arrived);
    const { provenMsAgo } = arrived;
    if (isAgain) checkProven(provider, provenMsAgo);
    const known = await arriveKnown(arrived, next);
    if (isAgain && request.visitor !== null && known?.person.id !== request.visitor.person.id) throw notThem(provider.name);
    const { person, action, next: last, ...entered } = known ?? (await arriveNew(arrived, next));
    // Whoever only proves who they are stays in the account in view, which is what they are about to change.
    const accountId = (isAgain ? request.visitor?.membership.accountId : undefined) ?? entered.accountId;
    await arrive(request, reply, { person, accountId, action, hasSecondFactor, provider: id, provenMsAgo });
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

/** @throws GatewayError `permission_denied` if the provider has not just asked its person who they are. */
function checkProven({ name }: Provider, provenMsAgo: number | null): void {
  if (provenMsAgo === null)
    throw new GatewayError(
      "permission_denied",
      `${name} does not say when you signed in there, so it cannot confirm that it is you. Contact the operator of this service.`,
    );
  if (!isRecent(provenMsAgo))
    throw new GatewayError(
      "permission_denied",
      `${name} did not ask you to sign in again, so it has not confirmed that it is you. Sign out there, then try again.`,
    );
}

function notThem(name: string): GatewayError {
  return new GatewayError("permission_denied", `You signed in at ${name} as somebody else. Sign out there, then try again.`);
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
