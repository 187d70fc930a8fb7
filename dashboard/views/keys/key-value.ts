import { html } from "ghtml";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { Member } from "../../session/visitor.ts";
import { copied } from "../copied.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { chooseModels } from "./choose-models.ts";
import { copyable, snippets } from "./snippets.ts";

export interface KeyValue {
  visitor: Member;
  title: string;
  /** The full value; this page is the only one that ever has it. */
  value: string;
  models: readonly ListedModel[];
  baseUrl: string;
}

export function keyValuePage({ visitor, title, value, models, baseUrl }: KeyValue): string {
  const body = html`<h1>${title}</h1>
    <div class="card stack">
      !${copyable({ id: "key-value", text: value, label: "Full value of the key" })}
      <p>
        <strong>Copy it now: you will not see it again.</strong> Anyone who has it can spend this account's credit, so store it
        like a password. The gateway keeps only a hash.
      </p>
      !${copied("/dashboard/keys")}
    </div>
    <h2>Use it</h2>
    !${snippets({ baseUrl, key: value, ...chooseModels(models) })}`;
  return layout({ title, visitor, path: "/dashboard/keys", body, isNarrow: true });
}

export interface KeyConfirmation {
  visitor: Member;
  key: ListedKey;
  action: "rotate" | "delete";
}

export function confirmKeyPage({ visitor, key, action }: KeyConfirmation): string {
  const isDelete = action === "delete";
  const title = isDelete ? `Delete ${key.name}?` : `Rotate ${key.name}?`;
  const body = html`<h1>${title}</h1>
    <form method="post" action="/dashboard/keys/${key.publicId}/${action}" class="card stack">
      !${csrfField(visitor.csrf)}
      <p><code>${key.masked}</code></p>
      !${isDelete ? deleteWords : rotateWords}
      <div class="buttons">
        <button class="${isDelete ? "danger" : "primary"}">${isDelete ? "Delete key" : "Rotate key"}</button>
        <a class="button quiet" href="/dashboard/keys">Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path: "/dashboard/keys", body, isNarrow: true });
}

const deleteWords = html`<p>
  Requests with this key are refused within a second. This cannot be undone. Past usage stays in your reports.
</p>`;

const OVERLAPS = [
  { hours: 24, words: "Keeps working for 24 hours" },
  { hours: 1, words: "Keeps working for 1 hour" },
  { hours: 168, words: "Keeps working for 7 days" },
  { hours: 0, words: "Stops working immediately" },
] as const;

const overlaps = OVERLAPS.map(
  ({ hours, words }) =>
    html`<label class="check"
      ><input type="radio" name="overlap" value="${hours}" !${hours === 24 ? "checked" : ""} />${words}</label
    >`,
).join("");

const rotateWords = html`<p>The key gets a new value. Its name, limits and usage stay.</p>
  <fieldset>
    <legend>Current value</legend>
    !${overlaps}
  </fieldset>`;
