import { html } from "ghtml";
import { providersOf } from "../../../contract/catalogue.ts";
import type { ProviderKeyFee } from "../../../contract/provider-key.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { Price } from "../../../ledger/money.ts";
import type { PriceRule } from "../../../ledger/models/price-schedule.ts";
import { feeWords } from "../../provider-keys/words.ts";
import { responsiveTable } from "../responsive-table.ts";
import { priceClasses, unitsOf, type PriceClass } from "./price-classes.ts";

const NOW = html` <span class="badge active">now</span>`;

/** Prices of each class of tokens, at all times of the day and from later days on. */
export function prices({ model, price, standardPrice, schedule, batchPrice, providerKeyFee }: ListedModel): string {
  const all = [standardPrice, ...schedule.map((rule) => rule.price)];
  const classes = priceClasses(model, all);
  const rows = [
    row("Standard", { price: standardPrice, classes, isInForce: price === standardPrice }),
    ...schedule.map((rule) => row(whenOf(rule), { price: rule.price, classes, isInForce: rule.price === price })),
    ...(batchPrice === null ? [] : [row("Batches", { price: batchPrice, classes, isInForce: true })]),
  ];
  const heads = ["When", ...classes.map(({ name }) => ({ number: name }))];
  return html`<section aria-labelledby="prices">
    <h2 id="prices">Prices</h2>
    <p class="muted">${unitsOf(classes)} A request is charged at the price in force when it starts.</p>
    !${responsiveTable(heads, rows, "medium")} !${providerKeyFee === null ? "" : ownKey(providersOf(model), providerKeyFee)}
  </section>`;
}

function ownKey(providers: readonly string[], fee: ProviderKeyFee): string {
  const names = providers.map((provider) => html`<code class="wrap">${provider}</code>`).join(" or ");
  const { requestPicoUsd, millionths } = fee;
  const words =
    requestPicoUsd === 0n && millionths === 0n ? "nothing here" : `a fee here in place of the price: ${feeWords(fee)}`;
  return html`<p>
    With <a href="/dashboard/provider-keys">your own key</a> for !${names}, you pay the provider for the tokens, and ${words}.
  </p>`;
}

interface Row {
  price: Price;
  classes: readonly PriceClass[];
  isInForce: boolean;
}

function row(when: string, { price, classes, isInForce }: Row): string {
  return html`<tr>
    <th scope="row" class="wrap" data-label="When"><span>${when}!${isInForce ? NOW : ""}</span></th>
    !${classes.map(({ name, of }) => html`<td data-label="${name}" class="number">${of(price)}</td>`)}
  </tr>`;
}

/** "22:00–06:00 UTC, from 2027-01-31 00:00 UTC". */
function whenOf({ fromMs, daily }: Pick<PriceRule, "fromMs" | "daily">): string {
  const since = fromMs === null ? [] : [`from ${new Date(fromMs).toISOString().slice(0, 16).replace("T", " ")} UTC`];
  const hours = daily === null ? [] : [`${clock(daily.fromMinute)}–${clock(daily.untilMinute)} UTC`];
  const words = [...hours, ...since].join(", ");
  return words.charAt(0).toUpperCase() + words.slice(1);
}

function clock(minute: number): string {
  return `${String(Math.floor(minute / 60)).padStart(2, "0")}:${String(minute % 60).padStart(2, "0")}`;
}
