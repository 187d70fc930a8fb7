import { html } from "ghtml";
import type { SavedCard } from "../../../ledger/payments/saved-cards.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { cardName } from "../credit/card-name.ts";
import { csrfField } from "../csrf-field.ts";

const CARD = "/dashboard/credit/auto-top-up/card";

/** The card that automatic top-up charges. Only the provider knows its number. */
export function paymentMethod(visitor: Member, card: SavedCard | undefined): string {
  const mayChange = isAllowed(visitor.membership.role, "manageCard");
  return html`<div class="card stack">
    <h2>Payment method</h2>
    <p>!${card === undefined ? "No card saved." : html`<strong>${cardName(card)}</strong>`}</p>
    <p class="muted">
      The card is charged by <a href="/dashboard/credit#auto-top-up">automatic top-up</a> only. The payment provider stores it.
    </p>
    !${mayChange ? buttons(visitor, card) : html`<p class="muted">Only owners of this account can change this.</p>`}
  </div>`;
}

function buttons({ csrf, membership }: Member, card: SavedCard | undefined): string {
  const change = membership.isSuspended ? "" : html`<button>${card === undefined ? "Add card" : "Change card"}</button>`;
  const remove =
    card === undefined ? "" : html`<a class="button quiet danger" href="${CARD}/remove?page=billing" data-dialog>Remove card</a>`;
  if (change + remove === "") return "";
  return html`<form method="post" action="${CARD}">
    !${csrfField(csrf)}<input type="hidden" name="page" value="billing" />
    <div class="buttons">!${change} !${remove}</div>
  </form>`;
}
