import { html } from "ghtml";
import type { FormState } from "../http/form.ts";

/** Its value, and its words. */
export type Option = readonly [value: string, words: string];

interface Choice {
  name: string;
  label: string;
  /** In this order; the first is preselected. Not an object: its numbers would come before all other names. */
  options: readonly Option[];
  help?: string;
}

/** A choice of several words: a field with a label and its error. */
export function choice({ name, label, options, help }: Choice, form: FormState): string {
  const chosen = form.values[name];
  const problem = form.problems[name];
  const described = [...(help === undefined ? [] : [`${name}-help`]), ...(problem === undefined ? [] : [`${name}-problem`])];
  const items = options.map(
    ([value, words]) => html`<option value="${value}" !${value === chosen ? "selected" : ""}>${words}</option>`,
  );
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <select
      id="${name}"
      name="${name}"
      !${described.length === 0 ? "" : html`aria-describedby="${described.join(" ")}"`}
      !${problem === undefined ? "" : 'aria-invalid="true"'}
    >
      !${items.join("")}
    </select>
    !${help === undefined ? "" : html`<p class="help" id="${name}-help">${help}</p>`}
    !${problem === undefined ? "" : html`<p class="problem" id="${name}-problem">${problem}</p>`}
  </div>`;
}
