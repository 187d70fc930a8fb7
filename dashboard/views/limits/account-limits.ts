import { html } from "ghtml";
import { COUNT_LIMITS, LIMITS, SPEND_LIMITS, type Limit, type Limits } from "../../../contract/limits.ts";
import type { AccountLimitsInUse } from "../../limits/read-account-limits.ts";
import type { FormState } from "../../http/form.ts";
import { field } from "../field.ts";
import { responsiveTable } from "../responsive-table.ts";
import { limitBar } from "./limit-bar.ts";

/** Limits of the account, their use, and who set them. */
export function accountLimitTable({ usage, owner, operator, effective }: AccountLimitsInUse): string {
  const setter = (name: keyof Limits) => {
    if (owner[name] === undefined) return "Service";
    return operator[name] === undefined || owner[name] === effective[name] ? "Account owner" : "Service";
  };
  const rows = usage.map(
    ({ name, definition, limit, used }) =>
      html`<tr>
        <th scope="row" data-label="Limit">${limitName(definition)}</th>
        <td data-label="Used">!${limitBar({ used, limit, unit: definition.unit })}</td>
        <td data-label="Resets">${RESETS[definition.period ?? "none"]}</td>
        <td data-label="Set by">${setter(name)}</td>
      </tr>`,
  );
  return responsiveTable(["Limit", "Used", "Resets", "Set by"], rows, "wide");
}

const RESETS = {
  minute: "Every minute",
  day: "Daily at 00:00 UTC",
  month: "On the 1st at 00:00 UTC",
  none: "As requests end",
} as const;

/** Without the unit, which is in its figures. */
export function limitName({ label }: Limit): string {
  return label.replace(" (USD)", "");
}

/** @param help of the fields, by name. */
export function limitInputs(form: FormState, help: (name: keyof Limits) => string | undefined = () => undefined): string {
  const inputs = [...SPEND_LIMITS, ...COUNT_LIMITS].map((name) => {
    const text = help(name);
    const inputMode = LIMITS[name].unit === "usd" ? "decimal" : "numeric";
    return field({ name, label: LIMITS[name].label, inputMode, ...(text === undefined ? {} : { help: text }) }, form);
  });
  return html`<div class="grid">!${inputs.join("")}</div>`;
}
