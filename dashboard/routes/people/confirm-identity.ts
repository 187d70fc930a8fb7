import type { FastifyInstance } from "fastify";
import { endSession, refreshSession } from "../../../ledger/people/sessions.ts";
import { checkPassword } from "../../../ledger/people/sign-in.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm } from "../../form.ts";
import { goTo, safeNext, sendPage } from "../../reply.ts";
import { memberOf, PERSONAL } from "../../session/guard.ts";
import { confirmIdentityPage } from "../../views/people/confirm-identity.ts";

/** Somebody who is signed in proves anew who they are. */
export function confirmIdentityRoutes(app: FastifyInstance, { database }: AppDeps): void {
  app.get("/dashboard/confirm-identity", async (request, reply) => {
    const visitor = memberOf(request);
    return sendPage(reply, confirmIdentityPage({ visitor, next: safeNext(readQuery(request, "next")), form: EMPTY_FORM }));
  });

  app.post("/dashboard/confirm-identity", PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const { person, session } = visitor;
    const values = readForm(request);
    const next = safeNext(values["next"]);
    if (!person.hasPassword) {
      // Only the service where they sign in can say that it is them.
      await endSession(database, session);
      return goTo(reply, `/dashboard/sign-in?next=${encodeURIComponent(next)}`);
    }
    const failed = await submitForm(values, async () => {
      await checkPassword(database, person.id, { password: values["current"] ?? "", sessionId: session.id });
      await refreshSession(database, session);
    });
    if (failed !== undefined) return refuseForm(reply, confirmIdentityPage({ visitor, next, form: failed }), { form: failed });
    return goTo(reply, next);
  });
}
