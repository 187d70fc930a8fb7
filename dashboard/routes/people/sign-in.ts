import type { FastifyInstance } from "fastify";
import { noteAction } from "../../../ledger/people/audit.ts";
import { signIn } from "../../../ledger/people/sign-in.ts";
import { endSession, startSession } from "../../../ledger/people/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, submitForm } from "../../form.ts";
import { goTo, safeNext, sendPage } from "../../reply.ts";
import { sessionCookie } from "../../session/cookie.ts";
import { accountOnEntry, invitationIn } from "./entry.ts";
import { signInPage } from "../../views/people/sign-in.ts";

export function signInRoutes(app: FastifyInstance, { database, publicBaseUrl, signUp, mailer, oidc }: AppDeps): void {
  const cookies = sessionCookie(publicBaseUrl);
  const ways = { isSignUpOpen: signUp.isOpen, canReset: mailer !== undefined, oidcName: oidc?.name ?? null };

  app.get<{ Querystring: { next?: string } }>("/dashboard/sign-in", async (request, reply) => {
    const next = safeNext(request.query.next);
    if (request.visitor !== null) return goTo(reply, next);
    return sendPage(reply, signInPage({ form: EMPTY_FORM, next, ...ways }));
  });

  app.post("/dashboard/sign-in", async (request, reply) => {
    const values = readForm(request);
    const next = safeNext(values["next"]);
    const failed = await submitForm(values, async () => {
      const { email = "", password = "" } = values;
      const person = await signIn(database, { email, password, address: request.ip });
      const accountId = await accountOnEntry(database, person, invitationIn(next));
      // A session of before ends: what somebody planted in this browser is worth nothing afterwards.
      if (request.visitor !== null) await endSession(database, request.visitor.session);
      const userAgent = request.headers["user-agent"] ?? "";
      cookies.set(reply, await startSession(database, { personId: person.id, accountId, userAgent }));
      await noteAction(database, { accountId: null, personId: person.id, action: "person.signed_in", subject: person.email });
    });
    if (failed !== undefined) return sendPage(reply, signInPage({ form: failed, next, ...ways }), 401);
    return goTo(reply, next);
  });

  app.post("/dashboard/sign-out", async (request, reply) => {
    if (request.visitor !== null) await endSession(database, request.visitor.session);
    cookies.clear(reply);
    return goTo(reply, "/dashboard/sign-in");
  });
}
