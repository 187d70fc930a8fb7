import { html } from "ghtml";
import type { Payment } from "../../../ledger/payments/payments.ts";
import { showUsd } from "../../money.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";

export function testPayPage({ visitor, payment }: { visitor: Member; payment: Payment }): string {
  const body = html`<h1>Pay ${showUsd(payment.amountNanoUsd)}</h1>
    <form method="post" action="/dashboard/credit/test-pay/${payment.providerPaymentId}" class="card stack">
      !${csrfField(visitor.csrf)}
      <p>Test mode: no money moves, but the credit can be spent here.</p>
      <div class="buttons">
        <button class="primary" name="decision" value="pay">Pay ${showUsd(payment.amountNanoUsd)}</button>
        <button class="quiet" name="decision" value="decline">Decline</button>
      </div>
    </form>`;
  return layout({ title: "Pay", visitor, path: "/dashboard/credit", body, isNarrow: true });
}
