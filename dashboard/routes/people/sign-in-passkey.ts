import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { findPerson, type Person } from "../../../ledger/people/persons.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm, refuseForm, submitForm } from "../../http/form.ts";
import type { Passkeys } from "../../passkeys/passkeys.ts";
import { goTo, safeNext } from "../../http/reply.ts";
import { createArrive } from "../../session/arrival.ts";
import { PERSONAL } from "../../session/guard.ts";
import { signInPage } from "../../views/people/sign-in.ts";
import { createEntry, invitationIn } from "./entry.ts";
import { signInView } from "./sign-in-view.ts";

/** Sign-in by a passkey: alone, or after the password. The page accepts any passkey, so it does not reveal whose exist. */
export function signInPasskeyRoutes(app: FastifyInstance, deps: AppDeps, passkeys: Passkeys): void {
  const { database } = deps;
  const arrive = createArrive(deps);
  const entry = createEntry(deps);

  app.post("/dashboard/sign-in/passkey", PERSONAL, async (request, reply) => {
    const values = readForm(request);
    const { challenge: note = "", credential = "" } = values;
    const next = safeNext(values["next"]);
    const failed = await submitForm({}, async () => {
      const person = await find((await passkeys.check({ note, credential })).personId);
      const accountId = await entry.accountOf(person, invitationIn(next));
      await arrive(request, reply, { person, accountId, action: "person.signed_in", hasSecondFactor: true });
    });
    if (failed === undefined) return goTo(reply, next);
    const page = signInPage({ form: failed, next, isSessionOver: false, ...(await signInView(deps)) });
    return refuseForm(reply, page, { form: failed, status: 401 });
  });

  async function find(personId: string): Promise<Person> {
    const person = await findPerson(database, personId);
    if (person === undefined) throw new GatewayError("permission_denied", "This passkey is no longer registered.");
    return person;
  }
}
