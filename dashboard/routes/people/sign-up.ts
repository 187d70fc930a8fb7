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
import { goTo, sendPage } from "../../http/reply.ts";
import { createEntry } from "./entry.ts";
import { leadToProvider } from "./provider-only.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { canProveAddresses } from "../../session/requirements.ts";
import { signedNote } from "../../session/signed-note.ts";
import { checkSignUpAddress, checkSignUpOpen } from "../../config/sign-up-rules.ts";
import { addressPage, addressSentPage, signUpPage } from "../../views/people/sign-up.ts";
import { HOUR_MS } from "../../../contract/days.ts";

const RENEWAL = { path: "/dashboard/sign-up", words: "Request a new link" };

/** What allows somebody to sign up. */
interface Ticket {
  /** Token of an invitation; "" without one. */
  invitation: string;
  /** The account of the invitation. */
  invitedTo: string | null;
  /** Token of an emailed link; "" without one. */
  proof: string;
  /** The address that the link was sent to; null if it may be any. */
  email: string | null;
}

export function signUpRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl, signUp: rules, mailer, log } = deps;
  const arrive = createArrive(deps);
  const entry = createEntry(deps);
  const { providers = [] } = deps;
  const proofs = signedNote(z.string(), { purpose: "address of a sign-up", pepper: deps.pepper, forMs: HOUR_MS });

  /** If mail is delivered, nobody signs up with an unconfirmed address, or learns whose addresses are registered. */
  const canProve = canProveAddresses(mailer);

  /** @returns undefined if an address must be confirmed first: entering it does not prove whose it is. */
  async function readTicket({ invitation = "", proof = "" }: Record<string, string>): Promise<Ticket | undefined> {
    const invitedTo = await readInvitedTo(invitation);
    const ticket = { invitation, invitedTo, proof };
    // An invited person may have an address in another domain.
    if (!canProve && (invitedTo !== null || rules.domains === null)) return { ...ticket, proof: "", email: null };
    if (proof === "") return undefined;
    const email = proofs.read(proof);
    if (email === undefined) throw new DeadLink("This link has expired, or is incomplete. Request a new one.", RENEWAL);
    return { ...ticket, email };
  }

  /** An invited person may sign up when others may not. @returns the account's name; null for somebody without an invitation. */
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
      if (accountName !== null) await entry.welcome(person, { accountId, accountName });
      if (proved !== null) await forgiveAttempt(database, linkAttempt({ email: proved, address: request.ip }));
    });
    if (failed !== undefined) return refuseForm(reply, signUpPage({ form: failed, ...ticket, providers }), { form: failed });
    return goTo(reply, "/dashboard");
  });

  if (mailer !== undefined && (canProve || rules.domains !== null)) addressRoute(mailer);

  /** A link to the address confirms it. */
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
        // So that nobody's mailbox is flooded, and the page does not reveal that it was.
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

  /** Only the mailbox learns whether its address is already registered. */
  async function letterFor(email: string, invitation: string): Promise<Letter> {
    if ((await findPersonByEmail(database, email)) !== undefined) {
      const next = nextOf({ invitation });
      return knownAddressLetter({ to: email, link: `${publicBaseUrl}/dashboard/sign-in?next=${encodeURIComponent(next)}` });
    }
    const query = new URLSearchParams({ proof: proofs.write(email), ...(invitation === "" ? {} : { invitation }) });
    return addressLetter({ to: email, link: `${publicBaseUrl}/dashboard/sign-up?${query.toString()}` });
  }
}

/** Someone who signs up or in to join an account continues to its invitation. */
function nextOf({ invitation = "" }: Record<string, string>): string {
  return invitation === "" ? "/dashboard" : `/dashboard/invitation?token=${invitation}`;
}
