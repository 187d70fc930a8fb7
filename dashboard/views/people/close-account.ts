import { html } from "ghtml";
import type { Balance } from "../../../ledger/accounts/accounts.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { field } from "../field.ts";
import { usd } from "../figures.ts";

const SETTINGS = "/dashboard/settings";

export interface CloseAccountView {
  visitor: Member;
  balance: Balance;
  /** Keys that work, or could. */
  keys: number;
  form: FormState;
}

export function closeAccountPage({ visitor, balance, keys, form }: CloseAccountView): string {
  const { accountName } = visitor.membership;
  const credit =
    balance.postedNanoUsd > 0n
      ? html`<p class="alert">
          <strong>!${usd(balance.postedNanoUsd)} of credit is left.</strong> It cannot be used once the account is closed. Ask the
          operator of this service about a refund first.
        </p>`
      : "";
  return confirmPage({
    visitor,
    path: SETTINGS,
    title: `Close ${accountName}?`,
    body: html`!${credit}
      <ul>
        <li>
          ${keys === 0 ? "" : `${keys === 1 ? "Its API key is" : `Its ${keys} API keys are`} disabled immediately. `}Its
          management tokens are revoked.
        </li>
        <li>
          Automatic top-up is turned off, its card is removed, and open invitations, webhooks, trace destinations and provider
          keys are deleted.
        </li>
        <li>Everyone in the account is signed out. Members can sign in again to read usage and receipts.</li>
        <li>Unfinished batches are stopped. Uploaded files and the results of all batches are deleted.</li>
        <li>Recorded prompts, and the tags and end users of requests, are deleted.</li>
        <li>Usage and payments stay on record. Only the operator can reactivate the account.</li>
      </ul>
      !${field({ name: "name", label: `Enter “${accountName}” to confirm`, isRequired: true }, form)}`,
    action: `${SETTINGS}/close`,
    button: "Close account",
    cancel: SETTINGS,
    form,
  });
}
