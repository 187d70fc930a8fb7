import { html } from "ghtml";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { Member } from "../../session/visitor.ts";
import { chooseModels } from "./choose-models.ts";
import { csrfField, layout } from "../layout.ts";
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
      !${copyable({ id: "key-value", text: value, label: "The key's full value" })}
      <p>
        <strong>Copy it now: you will not see it again.</strong> Only a hash of it is kept. Whoever has it can spend this
        account's credit.
      </p>
      <p><a class="button primary" href="/dashboard/keys">I have copied it</a></p>
    </div>
    <h2>How to use it</h2>
    !${snippets({ baseUrl, key: value, ...chooseModels(models) })}`;
  return layout({ title, visitor, path: "/dashboard/keys", body, isNarrow: true });
}

export interface KeyConfirmation {
  visitor: Member;
  key: ListedKey;
  action: "rotate" | "delete";
  overlapHours: number;
}

export function confirmKeyPage({ visitor, key, action, overlapHours }: KeyConfirmation): string {
  const isDelete = action === "delete";
  const title = isDelete ? `Delete ${key.name}?` : `Rotate ${key.name}?`;
  const body = html`<h1>${title}</h1>
    <form method="post" action="/dashboard/keys/${key.publicId}/${action}" class="card stack">
      !${csrfField(visitor.csrf)}
      <p><code>${key.masked}</code></p>
      !${isDelete ? deleteWords : rotateWords(overlapHours)}
      <div class="buttons">
        <button class="!${isDelete ? "danger" : "primary"}">!${isDelete ? "Delete the key" : "Make a new value"}</button>
        <a class="button quiet" href="/dashboard/keys">Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path: "/dashboard/keys", body, isNarrow: true });
}

const deleteWords = html`<p>
  Whatever uses it is refused within a second. This cannot be undone; what it was used for stays in your usage.
</p>`;

function rotateWords(overlapHours: number): string {
  return html`<p>The key gets a new value. Its limits and its usage stay.</p>
    <fieldset>
      <legend>The value in use now</legend>
      <label class="check"
        ><input type="radio" name="overlap" value="some" checked />goes on to work for ${overlapHours} hours</label
      >
      <label class="check"><input type="radio" name="overlap" value="none" />is refused at once</label>
    </fieldset>`;
}
