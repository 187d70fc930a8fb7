import { html } from "ghtml";
import type { FormState } from "../http/form.ts";

export interface Field {
  name: string;
  /** Id of the element, if the page has two fields with this name. */
  id?: string;
  label: string;
  type?: "text" | "email" | "password" | "date";
  help?: string;
  /** For autofill by browsers and password managers. */
  autocomplete?: string;
  isRequired?: boolean;
  inputMode?: "decimal" | "numeric";
  placeholder?: string;
}

/** A field with its label, its help, and its error. */
export function field(
  { name, id = name, label, type = "text", help, autocomplete = "off", isRequired = false, inputMode, placeholder }: Field,
  form: FormState,
): string {
  const problem = form.problems[name];
  const described = [...(help === undefined ? [] : [`${id}-help`]), ...(problem === undefined ? [] : [`${id}-problem`])];
  const attributes = [
    html`type="${type}" id="${id}" name="${name}" value="${form.values[name] ?? ""}" autocomplete="${autocomplete}"`,
    ...(isRequired ? ["required"] : []),
    ...(inputMode === undefined ? [] : [html`inputmode="${inputMode}"`]),
    ...(placeholder === undefined ? [] : [html`placeholder="${placeholder}"`]),
    ...(described.length === 0 ? [] : [html`aria-describedby="${described.join(" ")}"`]),
    ...(problem === undefined ? [] : ['aria-invalid="true"']),
  ];
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input !${attributes.join(" ")} />
    !${help === undefined ? "" : html`<p class="help" id="${id}-help">${help}</p>`}
    !${problem === undefined ? "" : html`<p class="problem" id="${id}-problem">${problem}</p>`}
  </div>`;
}

/** The same for a text of several lines. */
export function textArea(
  {
    name,
    label,
    rows,
    help,
    autocomplete = "off",
    isRequired = false,
  }: Pick<Field, "name" | "label" | "help" | "autocomplete" | "isRequired"> & { rows: number },
  form: FormState,
): string {
  const problem = form.problems[name];
  const described = [...(help === undefined ? [] : [`${name}-help`]), ...(problem === undefined ? [] : [`${name}-problem`])];
  const attributes = [
    html`id="${name}" name="${name}" rows="${rows}" autocomplete="${autocomplete}"`,
    ...(isRequired ? ["required"] : []),
    ...(described.length === 0 ? [] : [html`aria-describedby="${described.join(" ")}"`]),
    ...(problem === undefined ? [] : ['aria-invalid="true"']),
  ];
  return html`<div class="field">
    <label for="${name}">${label}</label>
    <textarea !${attributes.join(" ")}>${form.values[name] ?? ""}</textarea>
    !${help === undefined ? "" : html`<p class="help" id="${name}-help">${help}</p>`}
    !${problem === undefined ? "" : html`<p class="problem" id="${name}-problem">${problem}</p>`}
  </div>`;
}

/** An error of the form as a whole, or of a group of check boxes. It gets the focus (assets/page.js). */
export function formProblem({ problems }: FormState, name = ""): string {
  const problem = problems[name];
  return problem === undefined ? "" : html`<p class="problem" role="alert" tabindex="-1">${problem}</p>`;
}
