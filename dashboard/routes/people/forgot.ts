import type { FastifyInstance } from "fastify";
import { listMemberships } from "../../../ledger/people/members.ts";
import { requestReset, resetPassword } from "../../../ledger/people/sign-in.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, submitForm } from "../../form.ts";
import { resetLetter } from "../../mail/letters.ts";
import type { Mailer } from "../../mail/letter.ts";
import { goTo, sendPage } from "../../reply.ts";
import { createArrive } from "../../session/arrival.ts";
import { forgotPage, forgotSentPage, resetPage } from "../../views/people/forgot.ts";

/** A new password by mail, for those who forgot theirs. */
export function forgotRoutes(app: FastifyInstance, deps: AppDeps, mailer: Mailer): void {
  const { database, publicBaseUrl, log } = deps;
  const arrive = createArrive(deps);

  app.get("/dashboard/forgot", async ({ visitor }, reply) => sendPage(reply, forgotPage({ form: EMPTY_FORM, visitor })));

  app.post("/dashboard/forgot", async (request, reply) => {
    const { email = "" } = readForm(request);
    // Not waited for: how long it takes must not tell whether the address has an account.
    void write(email).catch((error: unknown) => log.error({ err: error }, "a reset could not be mailed"));
    return sendPage(reply, forgotSentPage({ hasOutbox: mailer.outbox !== null }));
  });

  async function write(email: string): Promise<void> {
    const reset = await requestReset(database, email);
    if (reset === undefined) return;
    const { person, token } = reset;
    await mailer.send(
      resetLetter({ to: person.email, name: person.name, link: `${publicBaseUrl}/dashboard/reset?token=${token}` }),
    );
  }

  app.get("/dashboard/reset", async (request, reply) =>
    sendPage(reply, resetPage({ form: EMPTY_FORM, visitor: request.visitor, token: readQuery(request, "token") })),
  );

  app.post("/dashboard/reset", async (request, reply) => {
    const values = readForm(request);
    const { token = "", password = "" } = values;
    const failed = await submitForm(values, async () => {
      const person = await resetPassword(database, token, password);
      const [membership] = await listMemberships(database, person.id);
      // Who is in no account any more has nothing to sign in to.
      if (membership === undefined) return;
      await arrive(request, reply, { person, accountId: membership.accountId, action: "person.reset_password" });
    });
    if (failed !== undefined) return sendPage(reply, resetPage({ form: failed, visitor: request.visitor, token }), 400);
    return goTo(reply, "/dashboard");
  });
}
