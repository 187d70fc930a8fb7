import type { FastifyInstance } from "fastify";
import { closeAccount } from "../../../ledger/accounts/close-account.ts";
import { readBalance } from "../../../ledger/accounts/accounts.ts";
import { countKeys } from "../../../ledger/keys/key-list.ts";
import type { AppDeps } from "../../app-deps.ts";
import { EMPTY_FORM, readForm, refuseForm, submitForm, type FormState } from "../../http/form.ts";
import { createOwnerNotifier } from "../../mail/notifier.ts";
import { closedAccountLetter } from "../../mail/letters.ts";
import { showUsd } from "../../money.ts";
import { removeCard } from "../../payments/remove-card.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { GatewayError } from "../../../contract/errors.ts";
import { checkFresh } from "../../session/fresh.ts";
import { memberOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { closeAccountPage } from "../../views/people/close-account.ts";

const PATH = "/dashboard/settings/close";

/** An owner with a recent proof of identity closes the account in view. */
export function closeAccountRoutes(app: FastifyInstance, deps: AppDeps): void {
  const { database, log, publicBaseUrl, payments } = deps;
  const notifyOwners = createOwnerNotifier(deps);

  async function render(visitor: Member, form: FormState): Promise<string> {
    const { accountId } = visitor.membership;
    const [balance, keys] = await Promise.all([readBalance(database, accountId), countKeys(database, accountId)]);
    return closeAccountPage({ visitor, balance, keys, form });
  }

  app.get(PATH, async (request, reply) => {
    const visitor = memberOf(request, "closeAccount");
    checkFresh(visitor, PATH);
    return sendPage(reply, await render(visitor, EMPTY_FORM));
  });

  app.post(PATH, async (request, reply) => {
    const visitor = memberOf(request, "closeAccount");
    checkFresh(visitor, PATH);
    const { accountId, accountName } = visitor.membership;
    const values = readForm(request);
    const failed = await submitForm(values, async () => {
      if (values["name"] !== accountName)
        throw new GatewayError("invalid_request", "This is not the name of the account.", { field: "name" });
      const actor = { accountId, personId: visitor.person.id };
      const left = showUsd(await closeAccount(database, actor));
      const by = visitor.person.email;
      await notifyOwners(accountId, ({ email }) =>
        closedAccountLetter({ to: email, accountName, by, left, link: publicBaseUrl }),
      );
      // The account is closed already; owners can still remove a card that the provider kept.
      if (payments !== undefined)
        await removeCard(database, payments, actor).catch((error: unknown) => {
          log.warn({ err: error, account: accountId }, "failed to remove the card of a closed account");
        });
    });
    if (failed !== undefined) return refuseForm(reply, await render(visitor, failed), { form: failed });
    return goTo(reply, "/dashboard/sign-in");
  });
}
