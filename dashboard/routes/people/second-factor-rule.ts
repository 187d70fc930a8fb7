import type { FastifyInstance } from "fastify";
import { GatewayError } from "../../../contract/errors.ts";
import { admitChange, noteAction } from "../../../ledger/people/audit.ts";
import { setSecondFactorRule } from "../../../ledger/sign-in/second-factor-rule.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm } from "../../http/form.ts";
import { createOwnerNotifier } from "../../mail/notifier.ts";
import { secondFactorRuleLetter } from "../../mail/security-letters.ts";
import { goTo } from "../../http/reply.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf } from "../../session/guard.ts";

const MEMBERS = "/dashboard/members";

/** An owner requires a second factor of all members, or no longer does. */
export function secondFactorRuleRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, publicBaseUrl } = deps;
  const notifyOwners = createOwnerNotifier(deps);

  app.post(`${MEMBERS}/second-factor`, async (request, reply) => {
    const visitor = memberOf(request, "manageMembers");
    checkFresh(visitor, MEMBERS);
    const { person, session, membership } = visitor;
    const { accountId, accountName } = membership;
    const isRequired = readForm(request)["required"] === "yes";
    if (isRequired && !session.hasSecondFactor)
      throw new GatewayError(
        "invalid_request",
        "Set up your own two-factor authentication first, in Settings. Without it, you could not use this account.",
      );
    const hasChanged = await database.transaction(async (transaction) => {
      const actor = { accountId, personId: person.id };
      await admitChange(transaction, isRequired ? null : "settings", actor, "manageMembers");
      if (!(await setSecondFactorRule(transaction, { accountId, isRequired }))) return false;
      const action = isRequired ? "account.second_factor_required" : "account.second_factor_optional";
      await noteAction(transaction, { accountId, personId: person.id, action, subject: accountName });
      return true;
    });
    if (hasChanged)
      await notifyOwners(accountId, (to) =>
        secondFactorRuleLetter({ person: to, by: person, accountName, isRequired, publicBaseUrl }),
      );
    return goTo(reply, MEMBERS, `Two-factor authentication is now ${isRequired ? "required" : "optional"}.`);
  });
}
