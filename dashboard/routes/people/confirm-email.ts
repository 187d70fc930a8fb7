import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { noteAction } from "../../../ledger/people/audit.ts";
import { countAttempt, linkAttempt } from "../../../ledger/sign-in/attempts.ts";
import { markEmailProved } from "../../../ledger/people/email-proof.ts";
import type { AppDeps } from "../../app-deps.ts";
import { DeadLink } from "../../http/dead-link.ts";
import { readForm, readQuery } from "../../http/form.ts";
import { confirmLetter } from "../../mail/letters.ts";
import type { Mailer } from "../../mail/letter.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { memberOf, BEFORE_FACTOR } from "../../session/guard.ts";
import { signedNote } from "../../session/signed-note.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmEmailPage, confirmSentPage } from "../../views/people/confirm-email.ts";
import { DAY_MS } from "../../../contract/days.ts";

const PATH = "/dashboard/confirm-email";

/** A signed-in person confirms their address. */
export function confirmEmailRoutes(app: FastifyInstance, deps: AppDeps, mailer: Mailer): void {
  const { database, publicBaseUrl, pepper } = deps;
  const proofs = signedNote(z.strictObject({ personId: z.uuid(), email: z.string() }), {
    purpose: "address of a person",
    pepper,
    forMs: DAY_MS,
  });

  /** @throws DeadLink for a link that is another person's, expired, or incomplete. */
  function check({ person }: Member, token: string): void {
    const proof = proofs.read(token);
    if (proof?.personId !== person.id || proof.email !== person.email)
      throw new DeadLink("This link has expired, or belongs to another person. Sign in as that person, or request a new link.");
  }

  app.post(`${PATH}/send`, BEFORE_FACTOR, async (request, reply) => {
    const { person } = memberOf(request);
    const { email, name } = person;
    await countAttempt(database, linkAttempt({ email, address: request.ip }));
    const link = `${publicBaseUrl}${PATH}?token=${encodeURIComponent(proofs.write({ personId: person.id, email }))}`;
    await mailer.send(confirmLetter({ to: email, name, link }));
    return sendPage(reply, confirmSentPage({ visitor: memberOf(request), hasOutbox: mailer.outbox !== null }));
  });

  // Programs that scan mail open links: only the button confirms.
  app.get(PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    const token = readQuery(request, "token");
    check(visitor, token);
    return sendPage(reply, confirmEmailPage({ visitor, token }));
  });

  app.post(PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    check(visitor, readForm(request)["token"] ?? "");
    const { id: personId, email: subject } = person;
    if (await markEmailProved(database, person))
      await noteAction(database, { accountId: null, personId, action: "person.confirmed_email", subject });
    return goTo(reply, "/dashboard", "Email address confirmed.");
  });
}
