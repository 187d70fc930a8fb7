import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { findPerson } from "../../../ledger/people/persons.ts";
import { checkSecondFactor } from "../../../ledger/people/second-factor.ts";
import { signIn } from "../../../ledger/people/sign-in.ts";
import { endSession } from "../../../ledger/people/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm } from "../../form.ts";
import { goTo, safeNext, sendPage } from "../../reply.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { sessionCookie } from "../../session/cookie.ts";
import { knownBrowsers } from "../../session/known-browser.ts";
import { accountOnEntry, invitationIn } from "./entry.ts";
import { signedNote } from "../../session/signed-note.ts";
import { signInCodePage } from "../../views/people/second-factor.ts";
import { signInPage } from "../../views/people/sign-in.ts";

const CODE_WITHIN_MS = 10 * 60_000;

export function signInRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl, pepper, signUp, mailer, oidc } = deps;
  // Proves that the password was right; the code may take a while.
  const notes = signedNote(z.strictObject({ personId: z.uuid(), next: z.string() }), {
    purpose: "password was right",
    pepper,
    forMs: CODE_WITHIN_MS,
  });
  const arrive = createArrive(deps);
  const browsers = knownBrowsers(deps);
  const cookies = sessionCookie(publicBaseUrl);
  const ways = { isSignUpOpen: signUp.isOpen, canReset: mailer !== undefined, oidcName: oidc?.name ?? null };

  app.get<{ Querystring: { next?: string } }>("/dashboard/sign-in", async (request, reply) => {
    const next = safeNext(request.query.next);
    if (request.visitor !== null) return goTo(reply, next);
    return sendPage(reply, signInPage({ form: EMPTY_FORM, next, ...ways }));
  });

  app.post("/dashboard/sign-in", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const next = safeNext(values["next"]);
    let note: string | undefined;
    const failed = await submitForm(values, async () => {
      const { email = "", password = "" } = values;
      const person = await signIn(database, { email, password, address: request.ip, browser: browsers.read(request) });
      if (person.hasSecondFactor) {
        note = notes.write({ personId: person.id, next });
        return;
      }
      const accountId = await accountOnEntry(database, person, invitationIn(next));
      await arrive(request, reply, { person, accountId, action: "person.signed_in" });
    });
    if (failed !== undefined)
      return refuseForm(reply, signInPage({ form: failed, next, ...ways }), { form: failed, status: 401 });
    if (note !== undefined) return sendPage(reply, signInCodePage({ form: EMPTY_FORM, note }));
    return goTo(reply, next);
  });

  app.post("/dashboard/sign-in/code", PERSONAL, async (request, reply) => {
    const { note = "", code = "" } = readForm(request);
    const begun = notes.read(note);
    const person = begun === undefined ? undefined : await findPerson(database, begun.personId);
    if (begun === undefined || person === undefined)
      throw new GatewayError("invalid_request", "The code took more than ten minutes. Go to the sign-in page and begin again.");
    const failed = await submitForm({}, async () => {
      await checkSecondFactor(database, { personId: person.id, pepper, code });
      const accountId = await accountOnEntry(database, person, invitationIn(begun.next));
      await arrive(request, reply, { person, accountId, action: "person.signed_in" });
    });
    if (failed !== undefined) return refuseForm(reply, signInCodePage({ form: failed, note }), { form: failed, status: 401 });
    return goTo(reply, safeNext(begun.next));
  });

  app.post("/dashboard/sign-out", PERSONAL, async (request, reply) => {
    if (request.visitor !== null) await endSession(database, request.visitor.session);
    cookies.clear(reply);
    return goTo(reply, "/dashboard/sign-in");
  });
}
