import type { FastifyInstance } from "fastify";
import { checkSecondFactor } from "../../../ledger/sign-in/second-factor.ts";
import { endSession, refreshSession } from "../../../ledger/sign-in/sessions.ts";
import { checkPassword } from "../../../ledger/sign-in/sign-in.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { checkProvider } from "../../oidc/provider-domains.ts";
import type { Provider } from "../../oidc/provider.ts";
import { unknownPasskey, type Passkeys } from "../../passkeys/passkeys.ts";
import { goTo, safeNext, sendPage } from "../../http/reply.ts";
import { isFresh } from "../../session/fresh.ts";
import { memberOf, BEFORE_FACTOR } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmIdentityPage, type Proofs } from "../../views/people/confirm-identity.ts";

const PATH = "/dashboard/confirm-identity";

/** A signed-in person proves their identity again, with their second factor if they have one. */
export function confirmIdentityRoutes(
  app: FastifyInstance,
  { database, pepper, passkeys, providers = [], providerDomains }: AppDeps,
): void {
  async function render(visitor: Member, next: string, form: FormState): Promise<string> {
    const isPasskeyEnough = visitor.person.hasPasskey && visitor.onlyProvider === null;
    const challenge = isPasskeyEnough ? ((await passkeys?.ask(visitor.person.id)) ?? null) : null;
    return confirmIdentityPage({ visitor, next, form, proofs: proofsOf(visitor), challenge, providers: providersOf(visitor) });
  }

  /** Those that can confirm who somebody is: the one through which they signed in, if it is known. */
  function providersOf({ onlyProvider, session }: Member): readonly Provider[] {
    const used = providers.filter(({ id }) => id === (onlyProvider ?? session.provider));
    return used.length === 0 ? providers : used;
  }

  app.get(PATH, BEFORE_FACTOR, async (request, reply) =>
    sendPage(reply, await render(memberOf(request), safeNext(readQuery(request, "next")), EMPTY_FORM)),
  );

  app.post(PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    const { person, session } = visitor;
    const values = readForm(request);
    const next = safeNext(values["next"]);
    const { first, isCodeAsked } = proofsOf(visitor);
    if (first === "elsewhere") {
      // No provider is set up any more.
      await endSession(database, session);
      return goTo(reply, `/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    }
    const failed = await submitForm(values, async () => {
      const { current: password = "", code = "" } = values;
      if (first === "password") await checkPassword(database, person.id, { password, sessionId: session.id });
      if (isCodeAsked) await checkSecondFactor(database, { personId: person.id, pepper, code });
      await refreshSession(database, session, { hasSecondFactor: isCodeAsked });
    });
    if (failed !== undefined) return refuseForm(reply, await render(visitor, next, failed), { form: failed });
    return goTo(reply, next);
  });

  if (passkeys !== undefined) passkeyRoute(passkeys);

  function passkeyRoute({ check }: Passkeys): void {
    app.post(`${PATH}/passkey`, BEFORE_FACTOR, async (request, reply) => {
      const visitor = memberOf(request);
      const values = readForm(request);
      const next = safeNext(values["next"]);
      const failed = await submitForm({}, async () => {
        const { challenge: note = "", credential = "" } = values;
        checkProvider(providerDomains, visitor.person.email, undefined);
        if ((await check({ note, credential })).personId !== visitor.person.id) throw unknownPasskey();
        await refreshSession(database, visitor.session, { hasSecondFactor: true });
      });
      if (failed !== undefined) return refuseForm(reply, await render(visitor, next, failed), { form: failed });
      return goTo(reply, next);
    });
  }
}

function proofsOf(visitor: Member): Proofs {
  const { hasPassword, hasSecondFactor } = visitor.person;
  if (hasPassword && visitor.onlyProvider === null) return { first: "password", isCodeAsked: hasSecondFactor };
  // The provider has just confirmed their identity: only the second factor that they have here is missing.
  const isSecondMissing = hasSecondFactor && isFresh(visitor);
  return isSecondMissing ? { first: "none", isCodeAsked: true } : { first: "elsewhere", isCodeAsked: false };
}
