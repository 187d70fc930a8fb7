import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import { disableSecondFactor, enableTotp, offerTotp, reofferTotp } from "../../../ledger/people/second-factor.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm } from "../../form.ts";
import { createNotifier } from "../../mail/notifier.ts";
import { secondFactorLetter } from "../../mail/security-letters.ts";
import { goTo, sendPage } from "../../reply.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf, PERSONAL } from "../../session/guard.ts";
import { checkEmailProved } from "../../session/requirements.ts";
import { recoveryCodesPage, secondFactorPage } from "../../views/people/second-factor.ts";

const PATH = "/dashboard/settings/second-factor";

/** Codes of an authenticator app, beside the password. */
export function secondFactorRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, pepper, publicBaseUrl } = deps;
  const notify = createNotifier(deps);

  app.get(PATH, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    checkEmailProved(visitor);
    checkFresh(visitor, PATH);
    if (person.hasSecondFactor) return goTo(reply, "/dashboard/settings");
    const offer = offerTotp({ personId: person.id, pepper, email: person.email });
    return sendPage(reply, secondFactorPage({ visitor, offer, form: EMPTY_FORM }));
  });

  app.post(PATH, PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    checkEmailProved(visitor);
    checkFresh(visitor, PATH);
    if (!person.hasPassword)
      throw new GatewayError("invalid_request", "You sign in with another service: set up a second factor there.");
    const values = readForm(request);
    const { sealed = "", code = "" } = values;
    const about = { personId: person.id, pepper, sealed };
    let codes: string[] = [];
    const failed = await submitForm(values, async () => {
      codes = await enableTotp(database, { ...about, code });
    });
    if (failed !== undefined) {
      const offer = reofferTotp({ ...about, email: person.email });
      return refuseForm(reply, secondFactorPage({ visitor, offer, form: failed }), { form: failed });
    }
    await noteAction(database, {
      accountId: null,
      personId: person.id,
      action: "person.second_factor_on",
      subject: person.email,
    });
    notify(secondFactorLetter({ person, isOn: true, publicBaseUrl }));
    return sendPage(reply, recoveryCodesPage({ visitor, codes }));
  });

  app.post(`${PATH}/off`, PERSONAL, async (request, reply) => {
    const visitor = memberOf(request);
    const { person } = visitor;
    checkFresh(visitor, "/dashboard/settings");
    await database.transaction((transaction) => disableSecondFactor(transaction, person.id));
    await noteAction(database, {
      accountId: null,
      personId: person.id,
      action: "person.second_factor_off",
      subject: person.email,
    });
    notify(secondFactorLetter({ person, isOn: false, publicBaseUrl }));
    return goTo(reply, "/dashboard/settings?saved");
  });
}
