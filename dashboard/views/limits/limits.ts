import { html } from "ghtml";
import type { KeyPage, ListedKey } from "../../../ledger/keys/key-list.ts";
import type { CountsInUse } from "../../../ledger/leases/limit-use.ts";
import type { AccountLimitsInUse } from "../../limits/read-account-limits.ts";
import { limitUsage } from "../../limits/limit-usage.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { empty } from "../empty.ts";
import { formProblem } from "../field.ts";
import { grouped } from "../figures.ts";
import { layout } from "../layout.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { accountLimitTable, limitInputs, limitName } from "./account-limits.ts";
import { limitBar } from "./limit-bar.ts";

export interface LimitsView {
  visitor: Member;
  account: AccountLimitsInUse;
  /** Keys with limits. */
  keys: KeyPage;
  /** Of each key, by its id. */
  counts: ReadonlyMap<string, CountsInUse>;
  form: FormState;
}

const PATH = "/dashboard/limits";

export function limitsPage(view: LimitsView): string {
  const { visitor, account, keys, counts } = view;
  const maySet = isAllowed(visitor.membership.role, "setLimits");
  const none = maySet ? "Limits below apply to all keys together." : "Only owners can set account limits.";
  const body = html`<h1>Limits</h1>
    <p class="muted">
      Requests beyond a limit are refused with status 429 until it resets. A request counts against the limits of its key and of
      the account. Spend counts finished requests, so it can exceed a limit by those that were running.
    </p>
    <h2>Account</h2>
    !${account.usage.length === 0 ? empty("No account limits", { note: none }) : accountLimitTable(account)}
    !${maySet ? limitsForm(view) : ""}
    <h2>API keys</h2>
    !${keys.keys.length === 0 ? empty("No keys with limits", { note: "Set limits of a key on its page, under API keys." }) : keyTable(keys.keys, counts)}
    !${keys.next === null ? "" : html`<p class="more"><a class="button" href="${PATH}?after=${keys.next}">Older keys</a></p>`}`;
  return layout({ title: "Limits", visitor, path: PATH, body });
}

function limitsForm({ visitor, account, form }: LimitsView): string {
  return html`<form method="post" action="${PATH}" class="card stack">
    <h2>Set account limits</h2>
    <p class="muted">
      All keys together. Leave a field empty for no limit. A limit that the service has set stays in force if it is lower.
    </p>
    !${formProblem(form)} !${csrfField(visitor.csrf)}
    !${limitInputs(form, (name) => {
      const limit = account.operator[name];
      return limit === undefined ? undefined : `Service limit: ${grouped(String(limit))}`;
    })}
    <button class="primary">Save limits</button>
  </form>`;
}

function keyTable(keys: readonly ListedKey[], counts: LimitsView["counts"]): string {
  const rows = keys.map((key) => {
    const { publicId, name, masked, status, limits, spentTodayNanoUsd, spentThisMonthNanoUsd } = key;
    const usage = limitUsage(limits, { counts: counts.get(publicId), spentTodayNanoUsd, spentThisMonthNanoUsd });
    const bars = usage.map(
      ({ definition, limit, used }) =>
        html`<div class="used">
          <span class="muted small">${limitName(definition)}</span> !${limitBar({ used, limit, unit: definition.unit })}
        </div>`,
    );
    return html`<tr>
      <th scope="row" data-label="Name">
        <span
          ><a href="/dashboard/keys/${publicId}">!${clipped(name)}</a><span class="sub"><code>${masked}</code></span></span
        >
      </th>
      <td data-label="Status"><span class="badge ${status}">${status}</span></td>
      <td data-label="Used"><div class="limits">!${bars.join("")}</div></td>
    </tr>`;
  });
  return responsiveTable(["Name", "Status", "Used"], rows, "narrow");
}
