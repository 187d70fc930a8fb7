import { html } from "ghtml";
import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { field, formProblem } from "../field.ts";
import { usd } from "../figures.ts";
import { layout } from "../layout.ts";

const SETTINGS = "/dashboard/settings";

export interface CloseAccountView {
  visitor: Member;
  balance: Balance;
  /** That work, or could. */
  keys: number;
  form: FormState;
}

export function closeAccountPage({ visitor, balance, keys, form }: CloseAccountView): string {
  const { accountName } = visitor.membership;
  const title = "Close account";
  const credit =
    balance.postedNanoUsd > 0n
      ? html`<p class="alert">
          <strong>!${usd(balance.postedNanoUsd)} of credit is left.</strong> It cannot be used once the account is closed. Ask the
          operator of this service about a refund first.
        </p>`
      : "";
  const body = html`<p class="crumb"><a href="${SETTINGS}">Settings</a></p>
    <h1>Close ${accountName}?</h1>
    <form method="post" action="${SETTINGS}/close" class="card stack">
      !${formProblem(form)} !${csrfField(visitor.csrf)} !${credit}
      <ul>
        <li>
          ${keys === 1 ? "Its API key is" : `Its ${keys} API keys are`} disabled at once, and its management tokens are revoked.
        </li>
        <li>Automatic top-up is turned off, and open invitations and the webhook are deleted.</li>
        <li>Everyone in the account is signed out. Members can sign in again to read usage and receipts.</li>
        <li>Usage and payments stay on record. Only the operator can reactivate the account.</li>
      </ul>
      !${field({ name: "name", label: `Enter “${accountName}” to confirm`, isRequired: true }, form)}
      <div class="buttons">
        <button class="danger">Close account</button>
        <a class="button quiet" href="${SETTINGS}">Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path: SETTINGS, body, isNarrow: true });
}
