import type { FastifyInstance } from "fastify";
import * as z from "zod";
import { GatewayError } from "../../../contract/errors.ts";
import { findPerson, type Person } from "../../../ledger/people/persons.ts";
import { checkSecondFactor } from "../../../ledger/sign-in/second-factor.ts";
import { signIn } from "../../../ledger/sign-in/sign-in.ts";
import { endSession } from "../../../ledger/sign-in/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { goTo, safeNext, sendPage } from "../../http/reply.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { sessionCookie } from "../../session/cookie.ts";
import { knownBrowsers } from "../../session/known-browser.ts";
import { createEntry, invitationIn } from "./entry.ts";
import { leadToProvider } from "./provider-only.ts";
import { signedNote } from "../../session/signed-note.ts";
import { signInView } from "./sign-in-view.ts";
import { signInCodePage } from "../../views/people/second-factor.ts";
import { signInPage } from "../../views/people/sign-in.ts";

const CODE_WITHIN_MS = 10 * 60_000;

export function signInRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl, pepper, passkeys } = deps;
  // Proves that the password was right; entering the code may take a while.
  const notes = signedNote(z.strictObject({ personId: z.uuid(), next: z.string() }), {
    purpose: "password was right",
    pepper,
    forMs: CODE_WITHIN_MS,
  });
  const arrive = createArrive(deps);
  const entry = createEntry(deps);
  const browsers = knownBrowsers(deps);
  const cookies = sessionCookie(publicBaseUrl);

  /** The second step, for the person in the note of the first. */
  async function codePage(form: FormState, person: Person, begun: { note: string; next: string }): Promise<string> {
    const challenge = person.hasPasskey ? ((await passkeys?.ask(person.id)) ?? null) : null;
    return signInCodePage({ form, ...begun, hasTotp: person.hasTotp, challenge });
  }

  app.get<{ Querystring: { next?: string } }>("/dashboard/sign-in", async (request, reply) => {
    const next = safeNext(request.query.next);
    if (request.visitor !== null) return goTo(reply, next);
    const isSessionOver = cookies.read(request) !== undefined;
    return sendPage(reply, signInPage({ form: EMPTY_FORM, next, isSessionOver, ...(await signInView(deps)) }));
  });

  app.post("/dashboard/sign-in", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const next = safeNext(values["next"]);
    const elsewhere = leadToProvider(deps, reply, { email: values["email"] ?? "", next });
    if (elsewhere !== undefined) return elsewhere;
    let second: Person | undefined;
    const failed = await submitForm(values, async () => {
      const { email = "", password = "" } = values;
      const person = await signIn(database, { email, password, address: request.ip, browser: browsers.read(request) });
      if (person.hasSecondFactor) {
        second = person;
        return;
      }
      const accountId = await entry.accountOf(person, invitationIn(next));
      await arrive(request, reply, { person, accountId, action: "person.signed_in" });
    });
    if (failed !== undefined)
      return refuseForm(reply, signInPage({ form: failed, next, isSessionOver: false, ...(await signInView(deps)) }), {
        form: failed,
        status: 401,
      });
    if (second !== undefined) {
      const note = notes.write({ personId: second.id, next });
      return sendPage(reply, await codePage(EMPTY_FORM, second, { note, next }));
    }
    return goTo(reply, next);
  });

  app.post("/dashboard/sign-in/code", PERSONAL, async (request, reply) => {
    const { note = "", code = "" } = readForm(request);
    const begun = notes.read(note);
    const person = begun === undefined ? undefined : await findPerson(database, begun.personId);
    if (begun === undefined || person === undefined)
      throw new GatewayError(
        "invalid_request",
        "This sign-in took more than ten minutes. Go to the sign-in page and start again.",
      );
    const failed = await submitForm({}, async () => {
      await checkSecondFactor(database, { personId: person.id, pepper, code });
      const accountId = await entry.accountOf(person, invitationIn(begun.next));
      await arrive(request, reply, { person, accountId, action: "person.signed_in", hasSecondFactor: true });
    });
    const next = safeNext(begun.next);
    if (failed === undefined) return goTo(reply, next);
    return refuseForm(reply, await codePage(failed, person, { note, next }), { form: failed, status: 401 });
  });

  app.post("/dashboard/sign-out", PERSONAL, async (request, reply) => {
    if (request.visitor !== null) await endSession(database, request.visitor.session);
    cookies.clear(reply);
    return goTo(reply, "/dashboard/sign-in");
  });
}
