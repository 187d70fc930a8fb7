import { html } from "ghtml";

/** A moment to the minute, in UTC, said so. */
export function moment(at: Date): string {
  const iso = at.toISOString();
  return html`<time datetime="${iso}">${iso.slice(0, 16).replace("T", " ")} UTC</time>`;
}

/** A UTC day. */
export function day(at: Date): string {
  const text = at.toISOString().slice(0, 10);
  return html`<time datetime="${text}">${text}</time>`;
}
