import { html } from "ghtml";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { usd } from "../figures.ts";
import { snippets } from "../keys/snippets.ts";
import type { Overview } from "./overview-view.ts";
import { counted } from "../../counted.ts";

/** Steps to the first response; hidden once there was one. */
export function onboarding(overview: Overview): string {
  const { visitor, balance, keys, baseUrl, canPay, examples } = overview;
  const { role } = visitor.membership;
  const hasCredit = balance.postedNanoUsd > 0n;
  const mayAddCredit = canPay && isAllowed(role, "addCredit");
  // One button stands out: that of the next step.
  const isCreditNext = mayAddCredit && !hasCredit;
  const isKeyNext = keys === 0 && !isCreditNext;
  const addCredit = html`<p>
    <a class="button ${isCreditNext ? "primary" : ""}" href="/dashboard/credit/top-up">Add credit</a>
  </p>`;
  return html`<section aria-labelledby="start">
    <h2 id="start">Get started</h2>
    <ol class="steps">
      <li class="${hasCredit ? "done" : ""}">
        <h3>Add credit</h3>
        <p>!${credit(overview)}</p>
        !${mayAddCredit ? addCredit : ""}
      </li>
      <li class="${keys > 0 ? "done" : ""}">
        <h3>Create an API key</h3>
        <p>${keys > 0 ? `You have ${counted(keys, "key")}.` : "You will see its full value once."}</p>
        !${
          isAllowed(role, "manageKeys")
            ? html`<p><a class="button ${isKeyNext ? "primary" : ""}" href="/dashboard/keys/new">Create key</a></p>`
            : html`<p class="muted">You are a viewer. Ask a member or an owner of this account for a key.</p>`
        }
      </li>
      <li>
        <h3>Send your first request</h3>
        <p>Base URL: <code>${baseUrl}/v1</code> for OpenAI clients, <code>${baseUrl}</code> for Anthropic clients.</p>
        !${examples.hasConversation && isAllowed(role, "usePlayground") ? html`<p><a class="button" href="/dashboard/playground">Open the playground</a></p>` : ""}
        !${snippets({ ...examples, baseUrl, key: null })}
      </li>
    </ol>
  </section>`;
}

function credit({ balance, canPay }: Overview): string {
  if (balance.postedNanoUsd > 0n) return html`You have !${usd(balance.postedNanoUsd)} of credit.`;
  const redeem = html`<a href="/dashboard/credit">redeem a code</a>`;
  return canPay
    ? html`Pay by card, or !${redeem}.`
    : html`!${redeem.replace("redeem", "Redeem")}, or ask the operator of this service for credit.`;
}
