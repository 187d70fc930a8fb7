import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { HOUR_MS } from "../../../contract/days.ts";
import { GatewayError } from "../../../contract/errors.ts";
import { countAttempt, linkAttempt } from "../../../ledger/sign-in/attempts.ts";
import { changeEmail } from "../../../ledger/people/change-email.ts";
import { takeLetter } from "../../../ledger/people/letter-budget.ts";
import { findPersonByEmail } from "../../../ledger/people/persons.ts";
import type { AppDeps } from "../../app-deps.ts";
import { DeadLink } from "../../http/dead-link.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm } from "../../http/form.ts";
import type { Mailer } from "../../mail/letter.ts";
import { createNotifier } from "../../mail/notifier.ts";
import { changeEmailLetter, emailTakenLetter } from "../../mail/letters.ts";
import { changedEmailLetter } from "../../mail/security-letters.ts";
import { checkProvider } from "../../oidc/provider-domains.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf, PERSONAL } from "../../session/guard.ts";
import { signedNote } from "../../session/signed-note.ts";
import type { Member } from "../../session/visitor.ts";
import { checkSignUpAddress } from "../../config/sign-up-rules.ts";
import { changeEmailPage, changeEmailSentPage, confirmNewEmailPage } from "../../views/people/change-email.ts";

const PATH = "/dashboard/settings/email";
const noteSchema = z.strictObject({ personId: z.uuid(), from: z.string(), to: z.string() });

/** A link to the new address confirms it; the old address is notified of the change. */
export function changeEmailRoutes(app: FastifyInstance, deps: AppDeps, mailer: Mailer): void {
  const { database, publicBaseUrl, pepper, providerDomains, log } = deps;
  const notify = createNotifier(deps);
  const notes = signedNote(noteSchema, { purpose: "new address of a person", pepper, forMs: HOUR_MS });

  /** @throws GatewayError `permission_denied` if the organization controls the address. */
  function mayChange(visitor: Member): void {
    checkProvider(providerDomains, visitor.person.email, undefined);
    checkFresh(visitor, PATH);
  }

  app.get(PATH, async (request, reply) => {
    const visitor = memberOf(request);
    mayChange(visitor);
    return sendPage(reply, changeEmailPage({ visitor, form: EMPTY_FORM }));
  });

  app.post(PATH, PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    mayChange(visitor);
    const values = readForm(request);
    const { email: to = "" } = values;
    const failed = await submitForm(values, async () => {
      if (!z.email().max(254).safeParse(to).success)
        throw new GatewayError("invalid_request", "This is not an email address.", { field: "email" });
      if (to.toLowerCase() === visitor.person.email.toLowerCase())
        throw new GatewayError("invalid_request", "This is your current address.", { field: "email" });
      checkSignUpAddress(deps.signUp, to);
      checkProvider(providerDomains, to, undefined);
      await countAttempt(database, linkAttempt({ email: to, address: request.ip }));
      if (!(await takeLetter(database, to))) return;
      await mailer.send(await letterFor(visitor, to)).catch((error: unknown) => {
        log.warn({ err: error }, "failed to mail a link to a new address");
        throw new GatewayError("invalid_request", "No email could be sent to this address. Check it, or try again later.", {
          field: "email",
        });
      });
    });
    if (failed !== undefined) return refuseForm(reply, changeEmailPage({ visitor, form: failed }), { form: failed });
    return sendPage(reply, changeEmailSentPage({ visitor, email: to, hasOutbox: mailer.outbox !== null }));
  });

  /** Only the mailbox learns whether its address is already registered. */
  async function letterFor({ person }: Member, to: string) {
    if ((await findPersonByEmail(database, to)) !== undefined) return emailTakenLetter({ to });
    const token = notes.write({ personId: person.id, from: person.email, to });
    return changeEmailLetter({
      to,
      name: person.name,
      link: `${publicBaseUrl}${PATH}/confirm?token=${encodeURIComponent(token)}`,
    });
  }

  /** @throws DeadLink for a link that is another person's, expired, or incomplete. */
  function read({ person }: Member, token: string): { from: string; to: string } {
    const note = notes.read(token);
    if (note?.personId !== person.id || note.from !== person.email)
      throw new DeadLink(
        "This link has expired, has already been used, or belongs to another person. Sign in as that person, or request a new link.",
        { path: PATH, words: "Request a new link" },
      );
    return note;
  }

  // Programs that scan mail open links: only the button confirms.
  app.get(`${PATH}/confirm`, async (request, reply) => {
    const visitor = memberOf(request);
    const token = readQuery(request, "token");
    return sendPage(reply, confirmNewEmailPage({ visitor, token, email: read(visitor, token).to }));
  });

  app.post(`${PATH}/confirm`, PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const { person, session } = visitor;
    const { from, to } = read(visitor, readForm(request)["token"] ?? "");
    await changeEmail(database, { session, from, to });
    notify(changedEmailLetter({ person, to, publicBaseUrl }));
    return goTo(reply, "/dashboard/settings", `You now sign in as ${to}.`);
  });
}
