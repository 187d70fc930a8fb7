import { html } from "ghtml";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { Price } from "../../../ledger/money.ts";
import type { PriceRule } from "../../../ledger/models/price-schedule.ts";
import { showPrice } from "../../money.ts";
import { responsiveTable } from "../responsive-table.ts";

const NOW = html` <span class="badge active">now</span>`;

/** What each class of tokens costs, at all times of the day and from later days on. */
export function prices({ price, standardPrice, schedule }: ListedModel): string {
  const rows = [
    row("Standard", standardPrice, price === standardPrice),
    ...schedule.map((rule) => row(whenOf(rule), rule.price, rule.price === price)),
  ];
  const heads = ["When", { number: "Input" }, { number: "Cached input" }, { number: "Cache write" }, { number: "Output" }];
  return html`<section aria-labelledby="prices">
    <h2 id="prices">Prices</h2>
    <p class="muted">USD per million tokens. A request is charged at the price in force when it starts.</p>
    !${responsiveTable(heads, rows, "medium")}
  </section>`;
}

function row(when: string, price: Price, isInForce: boolean): string {
  return html`<tr>
    <th scope="row" class="wrap" data-label="When"><span>${when}!${isInForce ? NOW : ""}</span></th>
    <td data-label="Input" class="number">${showPrice(price.inputPicoUsd)}</td>
    <td data-label="Cached input" class="number">${showPrice(price.cachedInputPicoUsd)}</td>
    <td data-label="Cache write" class="number">${showPrice(price.cacheWritePicoUsd)}</td>
    <td data-label="Output" class="number">${showPrice(price.outputPicoUsd)}</td>
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
