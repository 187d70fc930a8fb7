import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../contract/errors.ts";
import { noteAction } from "../../ledger/people/audit.ts";
import { signUp } from "../../ledger/people/persons.ts";
import { startSession } from "../../ledger/people/sessions.ts";
import type { AppDeps } from "../app.ts";
import { EMPTY_FORM, readForm, submitForm } from "../form.ts";
import { goTo, sendPage } from "../reply.ts";
import { sessionCookie } from "../session/cookie.ts";
import { signUpPage } from "../views/sign-up.ts";

export function signUpRoutes(app: FastifyInstance, { database, publicBaseUrl, isSignUpOpen }: AppDeps): void {
  const cookies = sessionCookie(publicBaseUrl);

  function checkOpen(): void {
    if (!isSignUpOpen)
      throw new GatewayError("not_found", "Sign-up is closed here. Ask the operator of this service for an invitation.");
  }

  app.get("/dashboard/sign-up", async (request, reply) => {
    checkOpen();
    if (request.visitor !== null) return goTo(reply, "/dashboard");
    return sendPage(reply, signUpPage({ form: EMPTY_FORM }));
  });

  app.post("/dashboard/sign-up", async (request, reply) => {
    checkOpen();
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      const { email = "", name = "", password = "" } = values;
      const { person, accountId } = await signUp(database, { email, name, password });
      const userAgent = request.headers["user-agent"] ?? "";
      cookies.set(reply, await startSession(database, { personId: person.id, accountId, userAgent }));
      await noteAction(database, { accountId, personId: person.id, action: "person.signed_up", subject: person.email });
    });
    if (failed !== undefined) return sendPage(reply, signUpPage({ form: failed }), 400);
    return goTo(reply, "/dashboard");
  });
}
