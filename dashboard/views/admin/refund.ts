import { html } from "ghtml";
import type { Account } from "../../../ledger/accounts/accounts.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { field, formProblem } from "../field.ts";
import { clipped } from "../responsive-table.ts";
import { adminPage } from "./admin.ts";

export interface AdminRefundView {
  visitor: Member;
  account: Account;
  form: FormState;
  /** Id of this page: the form posts once. */
  attemptId: string;
}

export function adminRefundPage({ visitor, account, form, attemptId }: AdminRefundView): string {
  const path = `/dashboard/admin/accounts/${account.id}`;
  const body = html`<p class="crumb"><a href="${path}">!${clipped(account.name)}</a></p>
    <h1>Refund a request</h1>
    <form method="post" action="${path}/refund" class="card stack">
      !${formProblem(form)} !${csrfField(visitor.csrf)}<input type="hidden" name="attempt" value="${attemptId}" />
      !${field({ name: "requestId", label: "Request ID", help: "The x-request-id of the response, as in the account's logs.", isRequired: true }, form)}
      !${field({ name: "amount", label: "Amount (USD)", inputMode: "decimal", help: "Optional. Leave empty to refund the whole charge." }, form)}
      !${field({ name: "reason", label: "Reason", help: "Visible to the account.", isRequired: true }, form)}
      <div class="buttons">
        <button class="primary">Refund</button>
        <a class="button quiet" href="${path}" data-cancel>Cancel</a>
      </div>
    </form>`;
  return adminPage({ title: "Refund a request", visitor, path, body });
}
