import { html } from "ghtml";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { Member } from "../../session/visitor.ts";
import { confirmPage } from "../confirm.ts";
import { shownOnce } from "../shown-once.ts";
import { chooseModels } from "./choose-models.ts";
import { copyable, snippets } from "./snippets.ts";
import { counted } from "../../counted.ts";

export interface KeyValue {
  title: string;
  /** The full value, which only this dialog ever shows. */
  value: string;
  models: readonly ListedModel[];
  baseUrl: string;
}

export function keyValueDialog({ title, value, models, baseUrl }: KeyValue): string {
  const body = html`!${copyable({ id: "key-value", text: value, label: "Full value of the key" })}
    <p>
      <strong>Copy it now: you will not see it again.</strong> Anyone who has it can spend this account's credit, so store it like
      a password. The gateway keeps only a hash.
    </p>
    <details>
      <summary>Use it</summary>
      !${snippets({ baseUrl, key: value, ...chooseModels(models) })}
    </details>`;
  return shownOnce({ title, body, done: "/dashboard/keys" });
}

export interface KeyConfirmation {
  visitor: Member;
  key: ListedKey;
  action: keyof typeof QUESTIONS;
}

export function confirmKeyPage({ visitor, key, action }: KeyConfirmation): string {
  const { verb, words } = QUESTIONS[action];
  return confirmPage({
    visitor,
    path: KEYS,
    title: `${verb} ${key.name}?`,
    body: html`<p><code>${key.masked}</code></p>
      !${words}`,
    action: `${KEYS}/${key.publicId}/${action}`,
    button: `${verb} key`,
    cancel: KEYS,
    isDanger: action !== "rotate",
  });
}

/** @param keys to disable; empty if nothing was selected. */
export function confirmDisablePage({ visitor, keys }: { visitor: Member; keys: readonly ListedKey[] }): string {
  const items = keys.map(
    ({ publicId, name, masked }) =>
      html`<li>${name} <code>${masked}</code><input type="hidden" name="keys" value="${publicId}" /></li>`,
  );
  return confirmPage({
    visitor,
    path: KEYS,
    title: `Disable ${counted(keys.length, "key")}?`,
    body: html`<ul>
        !${items.join("")}
      </ul>
      !${disableWords}`,
    action: `${KEYS}/disable`,
    button: keys.length === 1 ? "Disable key" : "Disable keys",
    cancel: KEYS,
  });
}

const KEYS = "/dashboard/keys";

const deleteWords = html`<p>
  Requests with this key are refused within a second. This cannot be undone. Past usage stays in your reports.
</p>`;

const disableWords = html`<p>Requests are refused within a second. You can enable a disabled key again.</p>`;

const OVERLAPS = [
  { hours: 0, words: "Stops working immediately" },
  { hours: 1, words: "Keeps working for 1 hour" },
  { hours: 24, words: "Keeps working for 24 hours" },
  { hours: 168, words: "Keeps working for 7 days" },
] as const;

const overlaps = OVERLAPS.map(
  ({ hours, words }) =>
    html`<label class="check"
      ><input type="radio" name="overlap" value="${hours}" !${hours === 24 ? "checked autofocus" : ""} />${words}</label
    >`,
).join("");

const rotateWords = html`<p>The key gets a new value. Its name, limits and usage stay the same.</p>
  <fieldset>
    <legend>Current value</legend>
    !${overlaps}
  </fieldset>`;

const QUESTIONS = {
  delete: { verb: "Delete", words: deleteWords },
  disable: { verb: "Disable", words: disableWords },
  rotate: { verb: "Rotate", words: rotateWords },
} as const;
