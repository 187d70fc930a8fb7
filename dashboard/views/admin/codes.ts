import { html } from "ghtml";
import type { ListedCode } from "../../../ledger/credit/code-list.ts";
import type { FormState } from "../../form.ts";
import { showUsd } from "../../money.ts";
import type { Member } from "../../session/visitor.ts";
import { adminPage, emptyCard, olderLink } from "./admin.ts";
import { field, formProblem } from "../field.ts";
import { csrfField } from "../layout.ts";
import { copyable } from "../keys/snippets.ts";
import { day, moment } from "../time.ts";

const PATH = "/dashboard/admin/codes";

export interface AdminCodesView {
  visitor: Member;
  codes: readonly ListedCode[];
  form: FormState;
  next: string | null;
}

export function adminCodesPage({ visitor, codes, form, next }: AdminCodesView): string {
  const shown = form.values["count"] === undefined ? { ...form, values: { count: "1", uses: "1", ...form.values } } : form;
  const body = html`<h1>Redeem codes</h1>
    <form method="post" action="${PATH}" class="card stack">
      !${formProblem(form)} !${csrfField(visitor.csrf)}
      <div class="grid">
        !${field({ name: "count", label: "How many", inputMode: "numeric", isRequired: true }, shown)}
        !${field({ name: "amount", label: "USD of each", inputMode: "decimal", isRequired: true }, shown)}
        !${field({ name: "uses", label: "Uses of each", help: "By so many accounts, each once.", inputMode: "numeric", isRequired: true }, shown)}
        !${field({ name: "expires", label: "Last day", type: "date", help: "Left empty, it does not expire. Days are UTC." }, shown)}
      </div>
      !${field({ name: "reason", label: "Reason", help: "Who they are for. Those who redeem them do not see it.", isRequired: true }, shown)}
      <button class="primary">Make the codes</button>
    </form>
    !${codes.length === 0 ? emptyCard("There is no code yet.") : table(codes, visitor)}
    !${next === null ? "" : olderLink(PATH, { before: next }, "Older codes")}`;
  return adminPage({ title: "Redeem codes", visitor, path: PATH, body });
}

export function newCodesPage({ visitor, texts }: { visitor: Member; texts: readonly string[] }): string {
  const body = html`<h1>${texts.length === 1 ? "Your new code" : "Your new codes"}</h1>
    <div class="card stack">
      !${copyable({ id: "codes", text: texts.join("\n"), label: "The codes" })}
      <p>
        <strong>Copy them now: you will not see them again.</strong> Only a hash of each is kept. Whoever has one can redeem it.
      </p>
      <p><a class="button primary" href="${PATH}">I have copied them</a></p>
    </div>`;
  return adminPage({ title: "Your new codes", visitor, path: PATH, body });
}

function table(codes: readonly ListedCode[], visitor: Member): string {
  return html`<table class="responsive">
    <thead>
      <tr>
        <th scope="col">Reason</th>
        <th scope="col" class="number">USD</th>
        <th scope="col">Status</th>
        <th scope="col" class="number">Used</th>
        <th scope="col">Made</th>
        <th scope="col">Expires</th>
        <th scope="col"><span class="hidden">Actions</span></th>
      </tr>
    </thead>
    <tbody>
      !${codes.map((code) => row(code, visitor)).join("")}
    </tbody>
  </table>`;
}

function row(code: ListedCode, { csrf }: Member): string {
  const revoke = html`<form method="post" action="${PATH}/${code.id}/revoke">
    !${csrfField(csrf)}<button class="quiet danger" aria-label="Revoke the code ${code.id}">Revoke</button>
  </form>`;
  return html`<tr>
    <th scope="row" data-label="Reason">
      <span>${code.note ?? "–"}<br /><code class="small">${code.id}</code></span>
    </th>
    <td data-label="USD" class="number">${showUsd(code.amountNanoUsd)}</td>
    <td data-label="Status"><span class="badge ${code.status}">${code.status}</span></td>
    <td data-label="Used" class="number">${code.uses} of ${code.mostUses}</td>
    <td data-label="Made">
      <span>!${moment(code.createdAt)}<br /><span class="muted small">${code.createdBy ?? "–"}</span></span>
    </td>
    <td data-label="Expires">!${code.expiresAt === null ? "never" : day(new Date(code.expiresAt.getTime() - 1))}</td>
    <td class="actions">!${code.status === "open" ? revoke : ""}</td>
  </tr>`;
}
