import type { FastifyInstance } from "fastify";
import PQueue from "p-queue";
import { GatewayError } from "../../../contract/errors.ts";
import { takeLetter } from "../../../ledger/people/letter-budget.ts";
import { listMemberships } from "../../../ledger/people/members.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { listMadeThings } from "../../../ledger/people/made-by.ts";
import { countAttempt, resetAttempt } from "../../../ledger/sign-in/attempts.ts";
import { findReset, requestReset, resetPassword } from "../../../ledger/sign-in/sign-in.ts";
import type { AppDeps } from "../../app-deps.ts";
import { orDeadLink } from "../../http/dead-link.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm } from "../../http/form.ts";
import { resetLetter } from "../../mail/letters.ts";
import { createNotifier } from "../../mail/notifier.ts";
import { newPasswordLetter } from "../../mail/security-letters.ts";
import type { Mailer } from "../../mail/letter.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { checkProvider } from "../../oidc/provider-domains.ts";
import { leadToProvider } from "./provider-only.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { forgotPage, forgotSentPage, resetPage } from "../../views/people/forgot.ts";

/** A mail server may be slow. */
const LETTERS_AT_ONCE = 4;
const MAX_WAITING_LETTERS = 200;
const BUSY = "Too many people are resetting passwords right now. Try again in a few seconds.";

/** Password reset by email. */
export function forgotRoutes(app: FastifyInstance, deps: AppDeps, mailer: Mailer): void {
  const { database, publicBaseUrl, log } = deps;
  const arrive = createArrive(deps);
  const notify = createNotifier(deps);
  const letters = new PQueue({ concurrency: LETTERS_AT_ONCE });

  app.get("/dashboard/forgot", async ({ visitor }, reply) => sendPage(reply, forgotPage({ form: EMPTY_FORM, visitor })));

  app.post("/dashboard/forgot", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const { email = "" } = values;
    const elsewhere = leadToProvider(deps, reply, { email, next: "/dashboard" });
    if (elsewhere !== undefined) return elsewhere;
    const failed = await submitForm(values, async () => {
      await countAttempt(database, resetAttempt({ address: request.ip }));
      if (letters.size >= MAX_WAITING_LETTERS) throw new GatewayError("rate_limited", BUSY, { headers: { "retry-after": "5" } });
    });
    if (failed !== undefined) return refuseForm(reply, forgotPage({ form: failed, visitor: request.visitor }), { form: failed });
    // Not awaited: the duration must not reveal whether the address has an account.
    const written = letters.add(() => write(email));
    void written.catch((error: unknown) => log.error({ err: error }, "failed to mail a password reset"));
    return sendPage(reply, forgotSentPage({ hasOutbox: mailer.outbox !== null }));
  });

  async function write(email: string): Promise<void> {
    const reset = await requestReset(database, email);
    if (reset === undefined || !(await takeLetter(database, email))) return;
    const { person, token } = reset;
    await mailer.send(
      resetLetter({ to: person.email, name: person.name, link: `${publicBaseUrl}/dashboard/reset?token=${token}` }),
    );
  }

  /** For an unconfirmed address: whether somebody else may have created keys or tokens that keep working. */
  async function mustAsk(token: string): Promise<boolean> {
    const { id: personId, isEmailVerified, hasSecondFactor } = await findReset(database, token);
    if (isEmailVerified) return false;
    if (hasSecondFactor) return true;
    for (const { accountId } of await listMemberships(database, personId)) {
      const { keys, tokens } = await listMadeThings(database, { accountId, personId });
      if (keys.length + tokens.length > 0) return true;
    }
    return false;
  }

  app.get("/dashboard/reset", async (request, reply) => {
    const token = readQuery(request, "token");
    const isAsking = await orDeadLink(mustAsk(token), { path: "/dashboard/forgot", words: "Request a new link" });
    return sendPage(reply, resetPage({ form: EMPTY_FORM, visitor: request.visitor, token, isAsking }));
  });

  app.post("/dashboard/reset", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const { token = "", password = "" } = values;
    const failed = await submitForm(values, async () => {
      checkProvider(deps.providerDomains, (await findReset(database, token)).email, undefined);
      const isAsking = await mustAsk(token);
      const signedUp = values["signed-up"];
      if (isAsking && signedUp !== "me" && signedUp !== "stranger")
        throw new GatewayError("invalid_request", "Choose whether it was you who signed up.", { field: "signed-up" });
      const person = await resetPassword(database, token, password, { isTakingOver: isAsking && signedUp === "stranger" });
      const [membership] = await listMemberships(database, person.id);
      // A mailbox is not a second factor: people who have one sign in with it.
      if (person.hasSecondFactor) {
        await noteAction(database, {
          accountId: null,
          personId: person.id,
          action: "person.reset_password",
          subject: person.email,
        });
        notify(newPasswordLetter({ person, publicBaseUrl }));
        return;
      }
      // Someone without any account has nothing to sign in to.
      if (membership === undefined) return;
      await arrive(request, reply, { person, accountId: membership.accountId, action: "person.reset_password" });
    });
    if (failed !== undefined) {
      const isAsking = await mustAsk(token).catch(noneIfGone);
      return refuseForm(reply, resetPage({ form: failed, visitor: request.visitor, token, isAsking }), { form: failed });
    }
    return goTo(reply, "/dashboard");
  });
}

function noneIfGone(error: unknown): false {
  if (error instanceof GatewayError) return false;
  throw error;
}
