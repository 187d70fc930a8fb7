import { html } from "ghtml";
import type { OfferingModel, ProviderOffer } from "../../../ledger/provider-keys/offers.ts";
import type { ProviderKey } from "../../../ledger/provider-keys/provider-keys.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import { destinationText } from "../../provider-keys/provider-key-form.ts";
import { feeWords, masked, STATE_WORDS } from "../../provider-keys/words.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { field, formProblem } from "../field.ts";
import { layout } from "../layout.ts";
import { modelPath } from "../models/models.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { day } from "../time.ts";

export const PROVIDER_KEYS_PATH = "/dashboard/provider-keys";

/** The section in which the page is. */
const KEYS_PATH = "/dashboard/keys";

export interface ProviderKeysView {
  visitor: Member;
  keys: readonly ProviderKey[];
  /** Empty if the service takes no provider keys. */
  offers: readonly ProviderOffer[];
  form: FormState;
}

export function providerKeysPage({ visitor, keys, offers, form }: ProviderKeysView): string {
  const mayChange = isAllowed(visitor.membership.role, "manageProviderKeys");
  const none = mayChange ? "" : "Only owners of this account can add provider keys.";
  const body = html`<p class="crumb"><a href="${KEYS_PATH}">API keys</a></p>
    <h1>Provider keys</h1>
    <p class="muted">
      Bring your own key for a provider: requests to its models are sent with your key, the provider bills you for them, and this
      service deducts only a fee from your credit.
    </p>
    !${keys.length === 0 ? (offers.length === 0 ? "" : empty("No provider keys yet", { note: none })) : keyTable(keys, mayChange ? visitor : null)}
    !${offers.length === 0 ? empty("No provider keys accepted", { note: "No model of this service currently accepts your own key." }) : offerTable(offers)}
    !${mayChange && offers.length > 0 ? enterForm(visitor, offers, form) : problems(form)}`;
  return layout({ title: "Provider keys", visitor, path: KEYS_PATH, body });
}

/** @param owner null for those who may not change keys. */
function keyTable(keys: readonly ProviderKey[], owner: Member | null): string {
  const rows = keys.map((key) => {
    const { provider, origin, lastFour, state, fallsBack, createdAt, replacedAt } = key;
    const { words, badge, note } = STATE_WORDS[state];
    return html`<tr>
      <th scope="row" data-label="Provider">
        <span>!${clipped(provider)}<span class="sub">!${clipped(origin)}</span></span>
      </th>
      <td data-label="Key"><code>${masked(lastFour)}</code></td>
      <td data-label="Status" class="${note === "" ? "" : "phrase"}">
        <span><span class="badge ${badge}">${words}</span>!${note === "" ? "" : html`<span class="sub">${note}</span>`}</span>
      </td>
      <td data-label="If unavailable">${fallsBack ? "Model's price" : "Requests refused"}</td>
      <td data-label="Added" class="minor">!${day(replacedAt ?? createdAt)}</td>
      !${owner === null ? "" : html`<td class="actions">!${rowMenu(provider, [fallbackButton(owner, key), deleteLink(provider)])}</td>`}
    </tr>`;
  });
  const heads = [
    "Provider",
    "Key",
    "Status",
    "If unavailable",
    { text: "Added", isMinor: true } as const,
    ...(owner === null ? [] : [{ hidden: "Actions" }]),
  ];
  return responsiveTable(heads, rows, "wide");
}

/** Whether requests are sent at the model's price while the key cannot be used. */
function fallbackButton({ csrf }: Member, { provider, fallsBack }: ProviderKey): string {
  return html`<form method="post" action="${PROVIDER_KEYS_PATH}/${provider}/fallback">
    !${csrfField(csrf)}<button name="fallback" value="${fallsBack ? "off" : "on"}">
      ${fallsBack ? "Refuse if unavailable" : "Use the model's price if unavailable"}
    </button>
  </form>`;
}

function deleteLink(provider: string): string {
  return html`<a
    class="danger"
    href="${PROVIDER_KEYS_PATH}/${provider}/delete"
    data-dialog
    aria-label="Delete the key for ${provider}"
    >Delete</a
  >`;
}

function offerTable(offers: readonly ProviderOffer[]): string {
  const rows = offers.flatMap(({ provider, origin, models }) =>
    models.map(
      (model) =>
        html`<tr>
          <th scope="row" data-label="Model"><a href="${modelPath(model.name)}">!${clipped(model.name)}</a></th>
          <td data-label="Provider">
            <span>!${clipped(provider)}<span class="sub">!${clipped(origin)}</span></span>
          </td>
          <td data-label="Fee" class="phrase">${feeOf(model)}</td>
        </tr>`,
    ),
  );
  return html`<h2>Models that accept your own key</h2>
    <p class="muted small">
      Your key is sent only to the server shown. With a key, requests to the model go only to servers that accept it. While the
      key is unavailable, they are refused, unless you choose the model's price instead.
    </p>
    !${responsiveTable(["Model", "Provider", "Fee"], rows, "medium")}`;
}

function feeOf({ fee }: OfferingModel): string {
  return feeWords(fee);
}

/** Of a form that the page does not offer any more. */
function problems({ problems: words }: FormState): string {
  return Object.values(words)
    .map((problem) => html`<p class="problem" role="alert">${problem}</p>`)
    .join("");
}

function enterForm({ csrf }: Member, offers: readonly ProviderOffer[], form: FormState): string {
  const options = offers.map((offer): Option => [destinationText(offer), `${offer.provider} (${offer.origin})`]);
  const secret = {
    name: "secret",
    label: "Key",
    type: "password",
    isRequired: true,
    help: "Stored encrypted and never shown again. If you already have a key for this provider, it is replaced without interruption.",
  } as const;
  return html`<form method="post" action="${PROVIDER_KEYS_PATH}" class="card stack">
    <h2 id="enter">Add or replace a key</h2>
    !${formProblem(form)} !${csrfField(csrf)} !${choice({ name: "provider", label: "Provider", options }, form)}
    !${field(secret, form)}
    <button class="primary">Save key</button>
  </form>`;
}

export function confirmProviderKeyPage({ visitor, key }: { visitor: Member; key: ProviderKey }): string {
  const { provider, origin, lastFour } = key;
  return confirmPage({
    visitor,
    path: KEYS_PATH,
    title: "Delete this provider key?",
    body: html`<p>${provider} (${origin}), <code>${masked(lastFour)}</code></p>
      <p>Requests to its models will use the service's own credential again, and cost the models' regular prices.</p>`,
    action: `${PROVIDER_KEYS_PATH}/${provider}/delete`,
    button: "Delete key",
    cancel: PROVIDER_KEYS_PATH,
  });
}
