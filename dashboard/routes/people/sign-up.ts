import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { countAttempt, forgiveAttempt, linkAttempt } from "../../../ledger/people/attempts.ts";
import { readInvitation } from "../../../ledger/people/invitations.ts";
import { signUp, signUpInvited } from "../../../ledger/people/persons.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm } from "../../form.ts";
import { addressLetter } from "../../mail/letters.ts";
import type { Mailer } from "../../mail/letter.ts";
import { goTo, sendPage } from "../../reply.ts";
import { createArrive } from "../../session/arrival.ts";
import { signedNote } from "../../session/signed-note.ts";
import { checkSignUpAddress, checkSignUpOpen } from "../../sign-up-rules.ts";
import { addressPage, addressSentPage, signUpPage } from "../../views/people/sign-up.ts";

const HOUR_MS = 3_600_000;

/** What lets somebody sign up. */
interface Ticket {
  /** Token of an invitation; "" without one. */
  invitation: string;
  /** The account that it leads to. */
  invitedTo: string | null;
  /** Token of a mailed link; "" without one. */
  proof: string;
  /** The address that the link was mailed to; null: it may be any. */
  email: string | null;
}

export function signUpRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl, signUp: rules, mailer, log } = deps;
  const arrive = createArrive(deps);
  const oidcName = deps.oidc?.name ?? null;
  const proofs = signedNote(z.string(), { purpose: "address of a sign-up", pepper: deps.pepper, forMs: HOUR_MS });

  /** @returns undefined where an address must be proved first: that it is typed in says nothing of whose it is. */
  async function readTicket({ invitation = "", proof = "" }: Record<string, string>): Promise<Ticket | undefined> {
    // Who is invited may sign up where nobody else may.
    if (invitation !== "") {
      const { accountName } = await readInvitation(database, invitation);
      return { invitation, invitedTo: accountName, proof: "", email: null };
    }
    checkSignUpOpen(rules);
    const open = { invitation, invitedTo: null, proof };
    if (rules.domains === null) return { ...open, email: null };
    if (proof === "") return undefined;
    const email = proofs.read(proof);
    if (email === undefined) throw new GatewayError("not_found", "This link ran out, or was cut short. Ask for a new one.");
    return { ...open, email };
  }

  app.get("/dashboard/sign-up", async (request, reply) => {
    const tokens = { invitation: readQuery(request, "invitation"), proof: readQuery(request, "proof") };
    const ticket = await readTicket(tokens);
    if (request.visitor !== null) return goTo(reply, "/dashboard");
    if (ticket !== undefined) return sendPage(reply, signUpPage({ form: EMPTY_FORM, ...ticket, oidcName }));
    return sendPage(
      reply,
      addressPage({ form: EMPTY_FORM, domains: rules.domains ?? [], canMail: mailer !== undefined, oidcName }),
    );
  });

  app.post("/dashboard/sign-up", async (request, reply) => {
    const values = readForm(request);
    const ticket = await readTicket(values);
    if (ticket === undefined) return goTo(reply, "/dashboard/sign-up");
    const { name = "", password = "" } = values;
    const { invitation, email: proved } = ticket;
    const failed = await submitForm(values, async () => {
      const asked = {
        email: proved ?? values["email"] ?? "",
        name,
        password,
        isEmailVerified: proved !== null,
        address: request.ip,
      };
      const { person, accountId } =
        invitation === "" ? await signUp(database, asked) : await signUpInvited(database, { ...asked, invitation });
      await arrive(request, reply, { person, accountId, action: "person.signed_up" });
      if (proved !== null) await forgiveAttempt(database, linkAttempt({ email: proved, address: request.ip }));
    });
    if (failed !== undefined) return refuseForm(reply, signUpPage({ form: failed, ...ticket, oidcName }), { form: failed });
    return goTo(reply, "/dashboard");
  });

  if (mailer !== undefined && rules.domains !== null) addressRoute(mailer, rules.domains);

  /** Where only some domains' addresses can sign up: a link to the address proves that it is theirs. */
  function addressRoute(mail: Mailer, domains: readonly string[]): void {
    app.post("/dashboard/sign-up/address", async (request, reply) => {
      checkSignUpOpen(rules);
      const values = readForm(request);
      const { email = "" } = values;
      const failed = await submitForm(values, async () => {
        if (!z.email().max(254).safeParse(email).success)
          throw new GatewayError("invalid_request", "This is not an e-mail address.", { field: "email" });
        checkSignUpAddress(rules, email);
        // So that nobody's mailbox is filled from here.
        await countAttempt(database, linkAttempt({ email, address: request.ip }));
        const link = `${publicBaseUrl}/dashboard/sign-up?proof=${encodeURIComponent(proofs.write(email))}`;
        await mail.send(addressLetter({ to: email, link })).catch((error: unknown) => {
          log.warn({ err: error }, "a link to sign up could not be mailed");
          throw new GatewayError("invalid_request", "No letter could be sent to this address. Check it, or try again later.", {
            field: "email",
          });
        });
      });
      if (failed !== undefined)
        return refuseForm(reply, addressPage({ form: failed, domains, canMail: true, oidcName }), { form: failed });
      return sendPage(reply, addressSentPage({ hasOutbox: mail.outbox !== null }));
    });
  }
}
