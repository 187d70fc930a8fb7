import { html } from "ghtml";
import type { ListedCode } from "../../../ledger/credit/code-list.ts";
import type { FormState } from "../../http/form.ts";
import type { Member } from "../../session/visitor.ts";
import { olderLink } from "../older-link.ts";
import { adminPage } from "./admin.ts";
import { field, formProblem } from "../field.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { copyable } from "../keys/snippets.ts";
import { empty } from "../empty.ts";
import { usd } from "../figures.ts";
import { rowMenu } from "../menu.ts";
import { clipped, responsiveTable } from "../responsive-table.ts";
import { shownOnce } from "../shown-once.ts";
import { day, moment } from "../time.ts";

const PATH = "/dashboard/admin/codes";

export interface AdminCodesView {
  visitor: Member;
  codes: readonly ListedCode[];
  form: FormState;
  next: string | null;
  /** HTML of a dialog over the page. */
  dialog?: string;
  /** A new one for each loaded form. */
  attemptId: string;
}

export function adminCodesPage({ visitor, codes, form, next, dialog = "", attemptId }: AdminCodesView): string {
  const shown = form.values["count"] === undefined ? { ...form, values: { count: "1", uses: "1", ...form.values } } : form;
  const body = html`!${dialog}
    <h1>Redeem codes</h1>
    <form method="post" action="${PATH}" class="card stack">
      !${formProblem(form)} !${csrfField(visitor.csrf)}<input type="hidden" name="attempt" value="${attemptId}" />
      <div class="grid">
        !${field({ name: "count", label: "Number of codes", inputMode: "numeric", isRequired: true }, shown)}
        !${field({ name: "amount", label: "Value of each (USD)", inputMode: "decimal", isRequired: true }, shown)}
        !${field({ name: "uses", label: "Uses per code", help: "Each account can redeem a code once.", inputMode: "numeric", isRequired: true }, shown)}
        !${field({ name: "expires", label: "Expires", type: "date", help: "Optional. The last day (UTC)." }, shown)}
      </div>
      !${field({ name: "reason", label: "Reason", help: "Who they are for. Not visible to the people who redeem them.", isRequired: true }, shown)}
      <button class="primary">Create codes</button>
    </form>
    !${codes.length === 0 ? empty("No redeem codes yet") : table(codes)}
    !${next === null ? "" : olderLink(PATH, { before: next }, "Older codes")}`;
  return adminPage({ title: "Redeem codes", visitor, path: PATH, body });
}

export function newCodesDialog(texts: readonly string[]): string {
  const body = html`!${copyable({ id: "codes", text: texts.join("\n"), label: "Codes" })}
    <p>
      <strong>Copy them now: you will not see them again.</strong> Anyone who has one can redeem it. The gateway keeps only
      hashes.
    </p>`;
  return shownOnce({ title: texts.length === 1 ? "Your new code" : "Your new codes", body, done: PATH, what: "them" });
}

export function confirmCodePage({ visitor, code }: { visitor: Member; code: ListedCode }): string {
  return confirmPage({
    visitor,
    path: PATH,
    title: "Revoke this code?",
    body: html`<p>${code.note ?? code.id}</p>
      <p>It can no longer be redeemed. Credit already redeemed with it is not affected.</p>`,
    action: `${PATH}/${code.id}/revoke`,
    button: "Revoke code",
    cancel: PATH,
  });
}

function table(codes: readonly ListedCode[]): string {
  return responsiveTable(
    ["Reason", { number: "Value" }, "Status", { number: "Used" }, "Created", "Expires", { hidden: "Actions" }],
    codes.map(row),
    "wide",
  );
}

function row(code: ListedCode): string {
  const revoke = html`<a class="danger" href="${PATH}/${code.id}/revoke" data-dialog aria-label="Revoke the code ${code.id}"
    >Revoke</a
  >`;
  return html`<tr>
    <th scope="row" data-label="Reason">
      <span>!${clipped(code.note ?? "–")}<span class="sub">!${clipped(code.id)}</span></span>
    </th>
    <td data-label="Value" class="number">!${usd(code.amountNanoUsd)}</td>
    <td data-label="Status"><span class="badge ${code.status}">${code.status}</span></td>
    <td data-label="Used" class="number">${code.uses} of ${code.maxUses}</td>
    <td data-label="Created">
      <span>!${moment(code.createdAt)}<span class="sub">!${clipped(code.createdBy ?? "–")}</span></span>
    </td>
    <td data-label="Expires">!${code.expiresAt === null ? "Never" : day(new Date(code.expiresAt.getTime() - 1))}</td>
    <td class="actions">!${code.status === "open" ? rowMenu(code.note ?? code.id, [revoke]) : ""}</td>
  </tr>`;
}
