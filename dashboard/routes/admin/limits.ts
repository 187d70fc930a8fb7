import type { FastifyInstance } from "fastify";
import type { Account } from "../../../ledger/accounts/accounts.ts";
import { setAccountLimits } from "../../../ledger/leases/account-limits.ts";
import { noteAction } from "../../../ledger/people/audit.ts";
import type { AppDeps } from "../../app-deps.ts";
import { readForm, submitForm, type FormState } from "../../http/form.ts";
import { parseLimitsForm, writeLimitsForm } from "../../limits/limits-form.ts";
import { describeLimits, readAccountLimitsInUse } from "../../limits/read-account-limits.ts";
import { goTo, sendPage } from "../../http/reply.ts";
import { adminOf } from "../../session/guard.ts";
import type { Member } from "../../session/visitor.ts";
import { adminLimitsPage } from "../../views/admin/limits.ts";
import { accountOf, type AccountRequest } from "./account-of.ts";

const PATH = "/dashboard/admin/accounts/:accountId/limits";

/** Limits that administrators of the service set for an account. */
export function adminLimitRoutes(app: FastifyInstance, { database }: AppDeps): void {
  async function render(visitor: Member, account: Account, form?: FormState): Promise<string> {
    const limits = await readAccountLimitsInUse(database, account.id);
    const shown = form ?? { values: writeLimitsForm(limits.operator), problems: {} };
    return adminLimitsPage({ visitor, account, limits, form: shown });
  }

  app.get(PATH, async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    return sendPage(reply, await render(visitor, await accountOf(database, request)));
  });

  app.post(PATH, async (request: AccountRequest, reply) => {
    const visitor = adminOf(request);
    const account = await accountOf(database, request);
    const values = readForm(request);
    const form = await submitForm(values, async () => {
      const limits = parseLimitsForm(values);
      await database.transaction(async (transaction) => {
        await setAccountLimits(transaction, { accountId: account.id, by: "operator", limits });
        await noteAction(transaction, {
          accountId: account.id,
          personId: visitor.person.id,
          action: "account.service_limits_changed",
          subject: describeLimits(limits),
        });
      });
    });
    if (form !== undefined) return sendPage(reply, await render(visitor, account, form), 400);
    return goTo(reply, `/dashboard/admin/accounts/${account.id}/limits`, "Service limits saved.");
  });
}
