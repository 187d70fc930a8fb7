import { html } from "ghtml";
import { icon } from "./icon.ts";

const THEMES = { system: "System theme", light: "Light theme", dark: "Dark theme" } as const;

/** Shown by assets/theme.js: without scripts, pages follow the system. */
export function themeSwitch(): string {
  const buttons = (["system", "light", "dark"] as const).map(
    (theme) =>
      html`<button type="button" value="${theme}" title="${THEMES[theme]}" aria-label="${THEMES[theme]}">
        !${icon(theme)}
      </button>`,
  );
  return html`<div class="theme" role="group" aria-label="Theme" data-themes hidden>!${buttons.join("")}</div>`;
}
