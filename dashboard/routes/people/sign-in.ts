import type { FastifyInstance } from "fastify";
import { signIn } from "../../../ledger/people/sign-in.ts";
import { endSession } from "../../../ledger/people/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm } from "../../form.ts";
import { goTo, safeNext, sendPage } from "../../reply.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { sessionCookie } from "../../session/cookie.ts";
import { knownBrowsers } from "../../session/known-browser.ts";
import { accountOnEntry, invitationIn } from "./entry.ts";
import { signInPage } from "../../views/people/sign-in.ts";

export function signInRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl, signUp, mailer, oidc } = deps;
  const arrive = createArrive(deps);
  const browsers = knownBrowsers(deps);
  const cookies = sessionCookie(publicBaseUrl);
  const ways = { isSignUpOpen: signUp.isOpen, canReset: mailer !== undefined, oidcName: oidc?.name ?? null };

  app.get<{ Querystring: { next?: string } }>("/dashboard/sign-in", async (request, reply) => {
    const next = safeNext(request.query.next);
    if (request.visitor !== null) return goTo(reply, next);
    return sendPage(reply, signInPage({ form: EMPTY_FORM, next, ...ways }));
  });

  app.post("/dashboard/sign-in", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const next = safeNext(values["next"]);
    const failed = await submitForm(values, async () => {
      const { email = "", password = "" } = values;
      const person = await signIn(database, { email, password, address: request.ip, browser: browsers.read(request) });
      const accountId = await accountOnEntry(database, person, invitationIn(next));
      await arrive(request, reply, { person, accountId, action: "person.signed_in" });
    });
    if (failed !== undefined)
      return refuseForm(reply, signInPage({ form: failed, next, ...ways }), { form: failed, status: 401 });
    return goTo(reply, next);
  });

  app.post("/dashboard/sign-out", PERSONAL, async (request, reply) => {
    if (request.visitor !== null) await endSession(database, request.visitor.session);
    cookies.clear(reply);
    return goTo(reply, "/dashboard/sign-in");
  });
}
