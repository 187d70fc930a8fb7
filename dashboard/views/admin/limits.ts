import { html } from "ghtml";
import type { Account } from "../../../ledger/accounts/accounts.ts";
import type { AccountLimitsInUse } from "../../limits/read-account-limits.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { formProblem } from "../field.ts";
import { accountLimitTable, limitInputs } from "../limits/account-limits.ts";
import { clipped } from "../responsive-table.ts";
import { adminPage } from "./admin.ts";

export interface AdminLimitsView {
  visitor: Member;
  account: Account;
  limits: AccountLimitsInUse;
  form: FormState;
}

export function adminLimitsPage({ visitor, account, limits, form }: AdminLimitsView): string {
  const path = `/dashboard/admin/accounts/${account.id}`;
  const body = html`<p class="crumb"><a href="${path}">!${clipped(account.name)}</a></p>
    <h1>Account limits</h1>
    !${limits.usage.length === 0 ? empty("No account limits") : accountLimitTable(limits)}
    <form method="post" action="${path}/limits" class="card stack">
      <h2>Service limits</h2>
      <p class="muted">
        All keys of the account together. Owners can set lower limits, but cannot raise or remove these. Leave a field empty for
        no limit.
      </p>
      !${formProblem(form)} !${csrfField(visitor.csrf)}
      !${limitInputs(form, (name) => {
        const limit = limits.owner[name];
        return limit === undefined ? undefined : `Set by the owners: ${limit}`;
      })}
      <button class="primary">Save limits</button>
    </form>`;
  return adminPage({ title: `Limits of ${account.name}`, visitor, path, body });
}
