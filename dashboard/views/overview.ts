import { html } from "ghtml";
import type { Balance } from "../../ledger/accounts/accounts.ts";
import type { UsageTotals } from "../../ledger/usage/reports.ts";
import { showUsd } from "../money.ts";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";
import { snippets } from "./keys/snippets.ts";

export interface Overview {
  visitor: Member;
  balance: Balance;
  /** How many there are. */
  keys: number;
  usage: UsageTotals;
  baseUrl: string;
  chatModel: string;
  messagesModel: string;
  /** Is there a payment provider? */
  canPay: boolean;
}

export function overviewPage(overview: Overview): string {
  const { visitor, balance, keys, usage, baseUrl, canPay } = overview;
  const body = html`<h1>Overview</h1>
    <div class="cards">
      !${figure("Balance", showUsd(balance.postedNanoUsd), balance.postedNanoUsd > 0n ? "" : "Requests need a balance above zero.")}
      !${figure("Spent today", showUsd(usage.today.chargeNanoUsd), `${usage.today.requests} requests, UTC`)}
      !${figure("Last 30 days", showUsd(usage.last30Days.chargeNanoUsd), `${usage.last30Days.requests} requests`)}
    </div>
    <section aria-labelledby="start">
      <h2 id="start">Three steps to an answer</h2>
      <ol class="steps">
        <li class="${balance.postedNanoUsd > 0n ? "done" : ""}">
          <h3>Have credit</h3>
          <p>!${credit(overview)}</p>
          !${canPay ? html`<p><a class="button !${balance.postedNanoUsd > 0n ? "" : "primary"}" href="/dashboard/credit/top-up">Add credit</a></p>` : ""}
        </li>
        <li class="${keys > 0 ? "done" : ""}">
          <h3>Make a key</h3>
          <p>!${keys > 0 ? html`You have ${keys === 1 ? "one key" : `${keys} keys`}.` : "Its full value is shown once."}</p>
          <p><a class="button !${keys > 0 ? "" : "primary"}" href="/dashboard/keys/new">Make a key</a></p>
        </li>
        <li class="${usage.last30Days.requests > 0 ? "done" : ""}">
          <h3>Call it</h3>
          <p>
            Base address: <code>${baseUrl}/v1</code> for OpenAI-style clients, <code>${baseUrl}</code> for Anthropic-style ones.
          </p>
          <p><a class="button" href="/dashboard/playground">Try it in the playground</a></p>
          !${snippets({ ...overview, key: null })}
        </li>
      </ol>
    </section>`;
  return layout({ title: "Overview", visitor, path: "/dashboard", body });
}

function credit({ balance, canPay }: Overview): string {
  if (balance.postedNanoUsd > 0n) return html`There are ${showUsd(balance.postedNanoUsd)} to use.`;
  const redeem = html`<a href="/dashboard/credit">redeem a code</a>`;
  return canPay ? html`Pay for some, or !${redeem}.` : html`To begin, !${redeem}, or ask the operator of this service for some.`;
}

function figure(name: string, value: string, note: string): string {
  return html`<div class="card figure">
    <h2>${name}</h2>
    <p class="value">${value}</p>
    <p class="muted small">${note}</p>
  </div>`;
}
