import { html } from "ghtml";
import { CSRF_FIELD } from "../session/csrf.ts";

/** Part of every form of a member. */
export function csrfField(csrf: string): string {
  return html`<input type="hidden" name="${CSRF_FIELD}" value="${csrf}" />`;
}
