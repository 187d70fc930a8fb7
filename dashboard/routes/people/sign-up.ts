import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { countAttempt, forgiveAttempt, linkAttempt } from "../../../ledger/sign-in/attempts.ts";
import { readInvitation } from "../../../ledger/people/invitations.ts";
import { takeLetter } from "../../../ledger/people/letter-budget.ts";
import { findPersonByEmail, signUp, signUpInvited } from "../../../ledger/people/persons.ts";
import type { AppDeps } from "../../app-deps.ts";
import { DeadLink, orDeadLink } from "../../http/dead-link.ts";
import { EMPTY_FORM, readForm, readQuery, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { addressLetter, knownAddressLetter } from "../../mail/letters.ts";
import type { Letter, Mailer } from "../../mail/letter.ts";
import { createOwnerNotifier } from "../../mail/notifier.ts";
import { memberJoinedLetter } from "../../mail/security-letters.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { leadToProvider } from "./provider-only.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { canProveAddresses } from "../../session/requirements.ts";
import { signedNote } from "../../session/signed-note.ts";
import { checkSignUpAddress, checkSignUpOpen } from "../../config/sign-up-rules.ts";
import { addressPage, addressSentPage, signUpPage } from "../../views/people/sign-up.ts";
import { HOUR_MS } from "../../../contract/days.ts";

const RENEWAL = { path: "/dashboard/sign-up", words: "Request a new link" };

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
  const notifyOwners = createOwnerNotifier(deps);
  const { providers = [] } = deps;
  const proofs = signedNote(z.string(), { purpose: "address of a sign-up", pepper: deps.pepper, forMs: HOUR_MS });

  /** Where letters arrive, nobody gets in by an address that they only typed in, or learns whose addresses are here. */
  const canProve = canProveAddresses(mailer);

  /** @returns undefined where an address must be proved first: that it is typed in says nothing of whose it is. */
  async function readTicket({ invitation = "", proof = "" }: Record<string, string>): Promise<Ticket | undefined> {
    const invitedTo = await readInvitedTo(invitation);
    const ticket = { invitation, invitedTo, proof };
    // Who is invited may have an address of another domain.
    if (!canProve && (invitedTo !== null || rules.domains === null)) return { ...ticket, proof: "", email: null };
    if (proof === "") return undefined;
    const email = proofs.read(proof);
    if (email === undefined) throw new DeadLink("This link has expired, or is incomplete. Request a new one.", RENEWAL);
    return { ...ticket, email };
  }

  /** Who is invited may sign up where nobody else may. @returns the account's name; null for somebody without an invitation. */
  async function readInvitedTo(invitation: string): Promise<string | null> {
    if (invitation !== "") return (await orDeadLink(readInvitation(database, invitation))).accountName;
    checkSignUpOpen(rules);
    return null;
  }

  function addressView(form: FormState, { invitation = "" }: Record<string, string>): string {
    const domains = invitation === "" ? rules.domains : null;
    return addressPage({ form, invitation, domains, canMail: mailer !== undefined, providers });
  }

  app.get("/dashboard/sign-up", async (request, reply) => {
    const tokens = { invitation: readQuery(request, "invitation"), proof: readQuery(request, "proof") };
    const ticket = await readTicket(tokens);
    if (request.visitor !== null) return goTo(reply, "/dashboard");
    if (ticket !== undefined) return sendPage(reply, signUpPage({ form: EMPTY_FORM, ...ticket, providers }));
    return sendPage(reply, addressView(EMPTY_FORM, tokens));
  });

  app.post("/dashboard/sign-up", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const ticket = await readTicket(values);
    if (ticket === undefined) return sendPage(reply, addressView(EMPTY_FORM, values), 400);
    const { name = "", password = "" } = values;
    const { invitation, email: proved } = ticket;
    const elsewhere = leadToProvider(deps, reply, { email: proved ?? values["email"] ?? "", next: nextOf(values) });
    if (elsewhere !== undefined) return elsewhere;
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
      const accountName = ticket.invitedTo;
      if (accountName !== null)
        await notifyOwners(accountId, (to) => memberJoinedLetter({ person: to, by: person, accountName, publicBaseUrl }));
      if (proved !== null) await forgiveAttempt(database, linkAttempt({ email: proved, address: request.ip }));
    });
    if (failed !== undefined) return refuseForm(reply, signUpPage({ form: failed, ...ticket, providers }), { form: failed });
    return goTo(reply, "/dashboard");
  });

  if (mailer !== undefined && (canProve || rules.domains !== null)) addressRoute(mailer);

  /** A link to the address proves that it is theirs. */
  function addressRoute(mail: Mailer): void {
    app.post("/dashboard/sign-up/address", PERSONAL, async (request, reply) => {
      const values = readForm(request);
      const { email = "", invitation = "" } = values;
      const elsewhere = leadToProvider(deps, reply, { email, next: nextOf(values) });
      if (elsewhere !== undefined) return elsewhere;
      const invitedTo = await readInvitedTo(invitation);
      const failed = await submitForm(values, async () => {
        if (!z.email().max(254).safeParse(email).success)
          throw new GatewayError("invalid_request", "This is not an email address.", { field: "email" });
        if (invitedTo === null) checkSignUpAddress(rules, email);
        await countAttempt(database, linkAttempt({ email, address: request.ip }));
        // So that nobody's mailbox is filled from here, and nobody learns from the page that it was.
        if (!(await takeLetter(database, email))) return;
        await mail.send(await letterFor(email, invitation)).catch((error: unknown) => {
          log.warn({ err: error }, "failed to mail a sign-up link");
          throw new GatewayError("invalid_request", "No email could be sent to this address. Check it, or try again later.", {
            field: "email",
          });
        });
      });
      if (failed !== undefined) return refuseForm(reply, addressView(failed, values), { form: failed });
      return sendPage(reply, addressSentPage({ hasOutbox: mail.outbox !== null }));
    });
  }

  /** The mailbox alone learns whether its address is here already. */
  async function letterFor(email: string, invitation: string): Promise<Letter> {
    if ((await findPersonByEmail(database, email)) !== undefined) {
      const next = nextOf({ invitation });
      return knownAddressLetter({ to: email, link: `${publicBaseUrl}/dashboard/sign-in?next=${encodeURIComponent(next)}` });
    }
    const query = new URLSearchParams({ proof: proofs.write(email), ...(invitation === "" ? {} : { invitation }) });
    return addressLetter({ to: email, link: `${publicBaseUrl}/dashboard/sign-up?${query.toString()}` });
  }
}

/** Whoever signs up or in to join an account goes on to its invitation. */
function nextOf({ invitation = "" }: Record<string, string>): string {
  return invitation === "" ? "/dashboard" : `/dashboard/invitation?token=${invitation}`;
}
