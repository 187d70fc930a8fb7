import type { FastifyInstance, FastifyRequest } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { listPasskeys, removePasskey } from "../../../ledger/sign-in/passkeys.ts";
import { markSecondFactor } from "../../../ledger/sign-in/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm } from "../../http/form.ts";
import { createNotifier } from "../../mail/notifier.ts";
import { passkeyLetter } from "../../mail/security-letters.ts";
import type { Passkeys } from "../../passkeys/passkeys.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { checkFresh } from "../../session/fresh.ts";
import { BEFORE_FACTOR, memberOf, PERSONAL } from "../../session/guard.ts";
import { checkEmailProved } from "../../session/requirements.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPasskeyPage, NEW_PASSKEY_PATH, newPasskeyPage } from "../../views/people/passkeys.ts";
import { recoveryCodesPage } from "../../views/people/second-factor.ts";

type PasskeyRequest = FastifyRequest<{ Params: { id: string } }>;
const SETTINGS = "/dashboard/settings";

/** Passkeys of the person who is signed in. */
export function passkeyRoutes(app: FastifyInstance, deps: AppDeps, passkeys: Passkeys): void {
  const { database, publicBaseUrl } = deps;
  const notify = createNotifier(deps);

  async function sendLetter({ person }: Member, action: "person.passkey_added" | "person.passkey_removed", name: string) {
    await noteAction(database, { accountId: null, personId: person.id, action, subject: name });
    notify(passkeyLetter({ person, name, isAdded: action === "person.passkey_added", publicBaseUrl }));
  }

  app.get(NEW_PASSKEY_PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    checkEmailProved(visitor);
    checkFresh(visitor, NEW_PASSKEY_PATH);
    const challenge = await passkeys.offer(visitor.person);
    return sendPage(reply, newPasskeyPage({ visitor, challenge, form: EMPTY_FORM }));
  });

  app.post(NEW_PASSKEY_PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    const { person, session } = visitor;
    checkEmailProved(visitor);
    checkFresh(visitor, NEW_PASSKEY_PATH);
    const values = readForm(request);
    const { name = "", challenge: note = "", credential = "" } = values;
    let codes: string[] | null | undefined;
    const failed = await submitForm({ name }, async () => {
      codes = await passkeys.register(person, { note, credential, name });
      await markSecondFactor(database, session);
      await sendLetter(visitor, "person.passkey_added", name);
    });
    if (failed !== undefined) {
      const challenge = await passkeys.offer(person);
      return refuseForm(reply, newPasskeyPage({ visitor, challenge, form: failed }), { form: failed });
    }
    if (codes == null) return goTo(reply, SETTINGS, "Passkey added.");
    return sendPage(reply, recoveryCodesPage({ visitor, codes }));
  });

  app.get(`${SETTINGS}/passkeys/:id/remove`, async (request: PasskeyRequest, reply) => {
    const visitor = memberOf(request);
    checkFresh(visitor, SETTINGS);
    const passkey = (await listPasskeys(database, visitor.person.id)).find(({ id }) => id === request.params.id);
    if (passkey === undefined) throw new GatewayError("not_found", "You have no such passkey.");
    return sendPage(reply, confirmPasskeyPage({ visitor, passkey }));
  });

  app.post(`${SETTINGS}/passkeys/:id/remove`, PERSONAL, async (request: PasskeyRequest, reply) => {
    const visitor = memberOf(request);
    checkFresh(visitor, SETTINGS);
    const name = await removePasskey(database, { personId: visitor.person.id, id: request.params.id });
    await sendLetter(visitor, "person.passkey_removed", name);
    return goTo(reply, SETTINGS, "Passkey removed.");
  });
}
