import type { FastifyInstance } from "fastify";
import { noteAction } from "../../../ledger/people/audit.ts";
import { renewRecoveryCodes } from "../../../ledger/sign-in/factors.ts";
import { countRecoveryCodes } from "../../../ledger/sign-in/recovery-codes.ts";
import { disableTotp, enableTotp, offerTotp, reofferTotp } from "../../../ledger/sign-in/second-factor.ts";
import { markSecondFactor } from "../../../ledger/sign-in/sessions.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm } from "../../http/form.ts";
import { createNotifier } from "../../mail/notifier.ts";
import { recoveryCodesLetter, secondFactorLetter } from "../../mail/security-letters.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { checkFresh } from "../../session/fresh.ts";
import { BEFORE_FACTOR, memberOf, PERSONAL } from "../../session/guard.ts";
import { checkEmailProved } from "../../session/requirements.ts";
import type { Member } from "../../session/visitor.ts";
import {
  confirmRecoveryCodesPage,
  confirmTotpOffPage,
  recoveryCodesPage,
  secondFactorPage,
} from "../../views/people/second-factor.ts";

const PATH = "/dashboard/settings/second-factor";

/** Codes of an authenticator app, and recovery codes. */
export function secondFactorRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, pepper, publicBaseUrl } = deps;
  const notify = createNotifier(deps);
  const canAddPasskey = deps.passkeys !== undefined;

  const note = (
    { person }: Member,
    action: "person.second_factor_on" | "person.second_factor_off" | "person.recovery_codes_made",
  ) => noteAction(database, { accountId: null, personId: person.id, action, subject: person.email });

  app.get(PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    checkEmailProved(visitor);
    checkFresh(visitor, PATH);
    if (person.hasTotp) return goTo(reply, "/dashboard/settings");
    const offer = offerTotp({ personId: person.id, pepper, email: person.email });
    return sendPage(reply, secondFactorPage({ visitor, offer, form: EMPTY_FORM, canAddPasskey }));
  });

  app.post(PATH, BEFORE_FACTOR, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    checkEmailProved(visitor);
    checkFresh(visitor, PATH);
    const values = readForm(request);
    const { sealed = "", code = "" } = values;
    const about = { personId: person.id, pepper, sealed };
    let codes: string[] | null | undefined;
    const failed = await submitForm(values, async () => {
      codes = await enableTotp(database, { ...about, code });
    });
    if (failed !== undefined) {
      const offer = reofferTotp({ ...about, email: person.email });
      return refuseForm(reply, secondFactorPage({ visitor, offer, form: failed, canAddPasskey }), { form: failed });
    }
    await markSecondFactor(database, visitor.session);
    await note(visitor, "person.second_factor_on");
    notify(secondFactorLetter({ person, isOn: true, publicBaseUrl }));
    if (codes == null) return goTo(reply, "/dashboard/settings", "Authenticator app added.");
    return sendPage(reply, recoveryCodesPage({ visitor, codes }));
  });

  app.get(`${PATH}/off`, async (request, reply) => {
    const visitor = memberOf(request);
    checkFresh(visitor, "/dashboard/settings");
    return sendPage(reply, confirmTotpOffPage({ visitor }));
  });

  app.post(`${PATH}/off`, PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    checkFresh(visitor, "/dashboard/settings");
    if (await disableTotp(database, person.id)) {
      await note(visitor, "person.second_factor_off");
      notify(secondFactorLetter({ person, isOn: false, publicBaseUrl }));
    }
    return goTo(reply, "/dashboard/settings", "Authenticator app removed.");
  });

  app.get(`${PATH}/recovery-codes`, async (request, reply) => {
    const visitor = memberOf(request);
    checkFresh(visitor, "/dashboard/settings");
    if (!visitor.person.hasSecondFactor) return goTo(reply, "/dashboard/settings");
    const codesLeft = await countRecoveryCodes(database, visitor.person.id);
    return sendPage(reply, confirmRecoveryCodesPage({ visitor, codesLeft }));
  });

  app.post(`${PATH}/recovery-codes`, PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    checkFresh(visitor, "/dashboard/settings");
    const codes = await renewRecoveryCodes(database, visitor.person.id);
    await note(visitor, "person.recovery_codes_made");
    notify(recoveryCodesLetter({ person: visitor.person, publicBaseUrl }));
    return sendPage(reply, recoveryCodesPage({ visitor, codes }));
  });
}
