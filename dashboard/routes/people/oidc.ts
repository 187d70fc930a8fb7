import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { signUp, signUpInvited, type Person } from "../../../ledger/people/persons.ts";
import { findVouched, type Vouched } from "../../../ledger/people/vouched.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readQuery } from "../../form.ts";
import { begunCookie } from "../../oidc/begun.ts";
import { CALLBACK_PATH, type Oidc } from "../../oidc/provider.ts";
import { goTo, safeNext } from "../../reply.ts";
import { isFromOwnPage } from "../../session/csrf.ts";
import { createArrive } from "../../session/arrival.ts";
import { accountOnEntry, invitationIn } from "./entry.ts";
import { checkSignUpAddress, checkSignUpOpen } from "../../sign-up-rules.ts";

interface Arrival {
  person: Person;
  /** Of the account in view. */
  accountId: string;
  action: "person.signed_in" | "person.signed_up";
  /** Path to go to. */
  next: string;
}

/** Sign-in and sign-up at another service. */
export function oidcRoutes(app: FastifyInstance, deps: AppDeps, oidc: Oidc): void {
  const { database, publicBaseUrl, signUp: rules } = deps;
  const arrive = createArrive(deps);
  const begunCookies = begunCookie(deps);

  app.get("/dashboard/oidc/start", async (request, reply) => {
    const next = safeNext(readQuery(request, "next"));
    if (request.visitor !== null) return goTo(reply, next);
    const { address, checks } = await oidc.begin();
    begunCookies.set(reply, { ...checks, next, isAsked: isFromOwnPage(request, publicBaseUrl) });
    return goTo(reply, address);
  });

  app.get(CALLBACK_PATH, async (request, reply) => {
    const { next, isAsked, ...checks } = begunCookies.take(request, reply);
    const invitation = invitationIn(next);
    if (invitation !== "" && !isAsked) throw notAsked();
    const vouched = await oidc.finish(queryOf(request), checks);
    const { person, accountId, action, next: last } = (await arriveKnown(vouched, next)) ?? (await arriveNew(vouched, next));
    await arrive(request, reply, { person, accountId, action });
    return goTo(reply, last);
  });

  async function arriveKnown(vouched: Vouched, next: string): Promise<Arrival | undefined> {
    const known = await findVouched(database, vouched);
    if (known === undefined) return undefined;
    const { person, isLinked } = known;
    if (isLinked)
      await noteAction(database, { accountId: null, personId: person.id, action: "person.linked", subject: person.email });
    const accountId = await accountOnEntry(database, person, invitationIn(next));
    return { person, accountId, action: "person.signed_in", next };
  }

  async function arriveNew({ identity, email, name }: Vouched, next: string): Promise<Arrival> {
    if (email === null) throw notVerified(oidc.name);
    const invitation = invitationIn(next);
    if (invitation === "") {
      checkSignUpOpen(rules);
      checkSignUpAddress(rules, email);
    }
    const { person, accountId } =
      invitation === ""
        ? await signUp(database, { email, name, isEmailVerified: true, identity })
        : await signUpInvited(database, { email, name, isEmailVerified: true, identity, invitation });
    return { person, accountId, action: "person.signed_up", next: invitation === "" ? next : "/dashboard" };
  }
}

function queryOf({ url }: FastifyRequest): URLSearchParams {
  return new URLSearchParams(url.split("?").slice(1).join("?"));
}

/** Only who read to what they are invited joins it. */
function notAsked(): GatewayError {
  return new GatewayError("invalid_request", "Open the link of the invitation itself, and choose there how you sign in.");
}

function notVerified(name: string): GatewayError {
  return new GatewayError(
    "permission_denied",
    `${name} has not verified an e-mail address of yours, so nobody can tell whose it is. Verify it there, then sign in again.`,
  );
}
