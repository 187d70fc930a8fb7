import { html } from "ghtml";
import type { BillingDetails } from "../../../ledger/billing/billing-details.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { field, formProblem, textArea } from "../field.ts";

/** The recipient of receipts and statements: a form for owners, text for others. */
export function billingDetailsCard(visitor: Member, form: FormState, details: BillingDetails | undefined): string {
  if (!isAllowed(visitor.membership.role, "setBilling")) return shown(visitor, details);
  const values: Record<string, string> = details === undefined ? {} : { ...details };
  const filled = { ...form, values: { ...values, ...form.values } };
  return html`<form method="post" action="/dashboard/billing" class="card stack">
    <h2>Billing details</h2>
    !${formProblem(form)} !${csrfField(visitor.csrf)}
    !${field({ name: "name", label: "Company or name", autocomplete: "organization", isRequired: true }, filled)}
    !${textArea({ name: "address", label: "Address", autocomplete: "street-address", rows: 4, help: "Include the country. Up to six lines." }, filled)}
    !${field({ name: "taxId", label: "Tax ID", help: "Optional. For example, a VAT number." }, filled)}
    <button class="primary">Save</button>
  </form>`;
}

function shown({ membership }: Member, details: BillingDetails | undefined): string {
  const { name, address, taxId } = details ?? { name: membership.accountName, address: "", taxId: "" };
  return html`<div class="card stack">
    <h2>Billing details</h2>
    <p><strong>${name}</strong></p>
    !${
      address === ""
        ? ""
        : html`<p>
            !${address
              .split("\n")
              .map((line) => html`${line}`)
              .join("<br />")}
          </p>`
    }
    !${taxId === "" ? "" : html`<p>Tax ID ${taxId}</p>`}
    <p class="muted">Only owners of this account can change this.</p>
  </div>`;
}
