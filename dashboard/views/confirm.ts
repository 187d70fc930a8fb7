import { html } from "ghtml";
import type { Member } from "../session/visitor.ts";
import { csrfField } from "./csrf-field.ts";
import { formProblem } from "./field.ts";
import { layout } from "./layout.ts";
import type { FormState } from "../http/form.ts";

export interface Confirmation {
  visitor: Member;
  /** Address of the page's section, to mark it in the navigation. */
  path: string;
  /** The question. */
  title: string;
  /** HTML: the consequences, and any fields. */
  body: string;
  /** Address that the form is sent to. */
  action: string;
  button: string;
  /** Address of the page that asks. */
  cancel: string;
  /** False if nothing is lost. */
  isDanger?: boolean;
  form?: FormState;
}

/** Asks for confirmation. Links with `data-dialog` show its form in a dialog (assets/dialog.js). */
export function confirmPage({ visitor, path, title, isDanger = true, ...question }: Confirmation): string {
  const { body, action, button, cancel, form } = question;
  const page = html`<h1>${title}</h1>
    <form method="post" action="${action}" class="card stack">
      !${form === undefined ? "" : formProblem(form)} !${csrfField(visitor.csrf)} !${body}
      <div class="buttons">
        <button class="${isDanger ? "danger" : "primary"}">${button}</button>
        <a class="button quiet" href="${cancel}" data-cancel>Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path, body: page, isNarrow: true });
}
