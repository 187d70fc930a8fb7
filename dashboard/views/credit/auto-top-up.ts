import { html } from "ghtml";
import type { AutoTopUp } from "../../../ledger/payments/auto-top-up.ts";
import { formatNanoUsd } from "../../../ledger/money.ts";
import type { SavedCard } from "../../../ledger/payments/saved-cards.ts";
import type { FormState } from "../../http/form.ts";
import { showUsd } from "../../money.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { cardName } from "./card-name.ts";
import { confirmPage } from "../confirm.ts";
import { field } from "../field.ts";
import { csrfField } from "../csrf-field.ts";

export interface AutoTopUpView {
  /** undefined if it was never on. */
  autoTopUp: AutoTopUp | undefined;
  card: SavedCard | undefined;
}

const PATH = "/dashboard/credit/auto-top-up";

const TURN_OFF = html`<button class="quiet" formaction="${PATH}/off" formnovalidate>Turn off</button>`;
const REMOVE_CARD = html`<a class="button quiet danger" href="${PATH}/card/remove" data-dialog>Remove card</a>`;

const STOPPED = {
  declined: "The card was declined, so automatic top-up is off. Save another card if necessary, then turn it on again.",
  returned: "A payment was refunded or disputed, so automatic top-up is off. You can turn it on again.",
  other: "Automatic top-up was stopped. You can turn it on again.",
} as const;

/** On the credit page: charges that the service makes automatically. */
export function autoTopUpSection(visitor: Member, form: FormState, { autoTopUp, card }: AutoTopUpView): string {
  const isOn = autoTopUp?.isOn === true;
  if (!isAllowed(visitor.membership.role, "manageCard"))
    return html`<h2>Automatic top-up</h2>
      <div class="card stack">
        !${state(autoTopUp, card)}
        <p class="muted">Only owners of this account can change this.</p>
      </div>`;
  if (visitor.membership.isSuspended) return suspendedSection(visitor, { autoTopUp, card });
  const shown = { ...form, values: { ...valuesOf(autoTopUp), ...form.values } };
  const otherCard = html`<button class="quiet" formaction="${PATH}/card" formnovalidate>Use another card</button>`;
  return html`<h2 id="auto-top-up">Automatic top-up</h2>
    <form method="post" action="${PATH}" class="card stack" aria-labelledby="auto-top-up">
      !${csrfField(visitor.csrf)} !${state(autoTopUp, card)}
      <div class="grid">
        !${field({ name: "below", label: "Balance below (USD)", inputMode: "decimal", placeholder: "5.00", isRequired: true }, shown)}
        !${field({ name: "charge", label: "Charge (USD)", inputMode: "decimal", placeholder: "20.00", isRequired: true }, shown)}
        !${field({ name: "monthly", label: "Monthly limit (USD)", inputMode: "decimal", placeholder: "100.00", isRequired: true }, shown)}
      </div>
      <div class="buttons">
        <button>!${actionOf(isOn, card)}</button>
        !${isOn ? TURN_OFF : ""} !${card === undefined ? "" : otherCard + REMOVE_CARD}
      </div>
    </form>`;
}

/** Payments are not possible, but a card can be removed. */
function suspendedSection(visitor: Member, { autoTopUp, card }: AutoTopUpView): string {
  const buttons = (autoTopUp?.isOn === true ? TURN_OFF : "") + (card === undefined ? "" : REMOVE_CARD);
  return html`<h2 id="auto-top-up">Automatic top-up</h2>
    <form method="post" action="${PATH}/off" class="card stack" aria-labelledby="auto-top-up">
      !${csrfField(visitor.csrf)} !${state(autoTopUp, card)}
      !${buttons === "" ? "" : html`<div class="buttons">!${buttons}</div>`}
    </form>`;
}

export function confirmCardPage({
  visitor,
  card,
  isFromBilling,
}: {
  visitor: Member;
  card: SavedCard;
  isFromBilling: boolean;
}): string {
  const path = isFromBilling ? "/dashboard/billing" : "/dashboard/credit";
  return confirmPage({
    visitor,
    path,
    title: "Remove this card?",
    body: html`<p><strong>${cardName(card)}</strong></p>
      <p>Automatic top-up charges nothing until you save another one.</p>
      !${isFromBilling ? html`<input type="hidden" name="page" value="billing" />` : ""}`,
    action: `${PATH}/card/remove`,
    button: "Remove card",
    cancel: path,
  });
}

function actionOf(isOn: boolean, card: SavedCard | undefined): string {
  if (card === undefined) return "Continue to add a card";
  return isOn ? "Save" : "Turn on";
}

function state(autoTopUp: AutoTopUp | undefined, card: SavedCard | undefined): string {
  const lines = [
    ...(autoTopUp?.stoppedBecause ? [html`<p class="problem" role="alert">${STOPPED[autoTopUp.stoppedBecause]}</p>`] : []),
    html`<p>${sentence(autoTopUp, card)}</p>`,
    ...(autoTopUp?.isCharging === true ? [html`<p role="status">A charge is in progress.</p>`] : []),
    ...(autoTopUp !== undefined && isFull(autoTopUp)
      ? [
          html`<p role="status">
            The monthly limit has been reached. Nothing more is charged until next month, or until you raise the limit.
          </p>`,
        ]
      : []),
  ];
  return lines.join("");
}

function sentence(autoTopUp: AutoTopUp | undefined, card: SavedCard | undefined): string {
  if (autoTopUp?.isOn !== true)
    return `Off. When on, it charges ${card === undefined ? "a card that you save" : cardName(card)} as soon as the balance falls below an amount that you choose.`;
  if (card === undefined) return "Waiting for a card. Nothing is charged until you save one.";
  return `On, with ${cardName(card)}. Charged this month: ${showUsd(autoTopUp.chargedNanoUsd)} of ${showUsd(autoTopUp.monthlyNanoUsd)}.`;
}

function isFull({ isOn, chargedNanoUsd, amountNanoUsd, monthlyNanoUsd }: AutoTopUp): boolean {
  return isOn && chargedNanoUsd + amountNanoUsd > monthlyNanoUsd;
}

function valuesOf(autoTopUp: AutoTopUp | undefined): Record<string, string> {
  if (autoTopUp === undefined) return {};
  const { belowNanoUsd, amountNanoUsd, monthlyNanoUsd } = autoTopUp;
  return { below: amountOf(belowNanoUsd), charge: amountOf(amountNanoUsd), monthly: amountOf(monthlyNanoUsd) };
}

function amountOf(nanoUsd: bigint): string {
  return formatNanoUsd(nanoUsd).replace(/0{1,7}$/, "");
}
