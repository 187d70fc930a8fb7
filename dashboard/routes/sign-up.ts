import type { FastifyInstance } from "fastify";
import { noteAction } from "../../ledger/people/audit.ts";
import { readInvitation } from "../../ledger/people/members.ts";
import { signUp, signUpInvited } from "../../ledger/people/persons.ts";
import { startSession } from "../../ledger/people/sessions.ts";
import type { AppDeps } from "../app.ts";
import { EMPTY_FORM, readForm, readQuery, submitForm } from "../form.ts";
import { goTo, sendPage } from "../reply.ts";
import { sessionCookie } from "../session/cookie.ts";
import { checkSignUpAddress, checkSignUpOpen } from "../sign-up-rules.ts";
import { signUpPage } from "../views/sign-up.ts";

export function signUpRoutes(app: FastifyInstance, { database, publicBaseUrl, signUp: rules }: AppDeps): void {
  const cookies = sessionCookie(publicBaseUrl);

  /** Who is invited may sign up where nobody else may. @returns the account's name; null without an invitation. */
  async function readInvited(token: string): Promise<string | null> {
    if (token !== "") return (await readInvitation(database, token)).accountName;
    checkSignUpOpen(rules);
    return null;
  }

  app.get("/dashboard/sign-up", async (request, reply) => {
    const invitation = readQuery(request, "invitation");
    const invitedTo = await readInvited(invitation);
    if (request.visitor !== null) return goTo(reply, "/dashboard");
    return sendPage(reply, signUpPage({ form: EMPTY_FORM, invitation, invitedTo }));
  });

  app.post("/dashboard/sign-up", async (request, reply) => {
    const values = readForm(request);
    const { email = "", name = "", password = "", invitation = "" } = values;
    const invitedTo = await readInvited(invitation);
    const failed = await submitForm(values, async () => {
      if (invitedTo === null) checkSignUpAddress(rules, email);
      const { person, accountId } =
        invitedTo === null
          ? await signUp(database, { email, name, password })
          : await signUpInvited(database, { email, name, password, invitation });
      const userAgent = request.headers["user-agent"] ?? "";
      cookies.set(reply, await startSession(database, { personId: person.id, accountId, userAgent }));
      await noteAction(database, { accountId, personId: person.id, action: "person.signed_up", subject: person.email });
    });
    if (failed !== undefined) return sendPage(reply, signUpPage({ form: failed, invitation, invitedTo }), 400);
    return goTo(reply, "/dashboard");
  });
}
