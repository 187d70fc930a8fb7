import { html } from "ghtml";
import type { ListedAction } from "../../../ledger/people/audit.ts";
import type { Session } from "../../../ledger/sign-in/sessions.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { browserName } from "./browser-name.ts";
import { field, formProblem } from "../field.ts";
import { secondFactorSection, type SecondFactors } from "./second-factor.ts";
import { confirmPage } from "../confirm.ts";
import { csrfField } from "../csrf-field.ts";
import { layout } from "../layout.ts";
import { actionTable, BY } from "../audit/action-table.ts";
import { empty } from "../empty.ts";
import { moment } from "../time.ts";
import { labelsSection } from "./labels.ts";
import type { AccountLabels } from "../../../ledger/labels/account-labels.ts";
import { counted } from "../../counted.ts";

const PATH = "/dashboard/settings";

export interface SettingsView {
  visitor: Member;
  sessions: readonly Session[];
  /** Recent actions in the account. */
  actions: readonly ListedAction[];
  secondFactors: SecondFactors;
  labels: AccountLabels;
  canMail: boolean;
  form: FormState;
}

export function settingsPage({ visitor, sessions, actions, secondFactors, labels, canMail, form }: SettingsView): string {
  const body = html`<h1>Settings</h1>
    !${formProblem(form)} !${nameForm(visitor, form, canMail && visitor.onlyProvider === null)} !${accountForm(visitor, form)}
    !${labelsSection(visitor, labels)}
    !${visitor.person.hasPassword && visitor.onlyProvider === null ? passwordForm(visitor, form) : ""}
    !${secondFactorSection(visitor, secondFactors)}
    <h2>Active sessions</h2>
    !${sessionList(sessions, visitor)}
    <p>The <a href="${PATH}/log">security log</a> lists everything done from your sign-in.</p>
    <h2>Audit log</h2>
    <p class="muted">Recent actions of everyone in ${visitor.membership.accountName}.</p>
    !${actions.length === 0 ? empty("Nothing yet") : actionTable(actions, { before: [BY] })}
    <p class="more"><a class="button" href="${PATH}/activity">View audit log</a></p>`;
  return layout({ title: "Settings", visitor, path: PATH, body });
}

function nameForm({ csrf, person }: Member, form: FormState, canChangeEmail: boolean): string {
  const shown = "name" in form.values ? form : { ...form, values: { ...form.values, name: person.name } };
  return html`<form method="post" action="${PATH}/name" class="card stack">
    !${csrfField(csrf)}
    <p class="muted">
      You sign in as ${person.email}. !${canChangeEmail ? html`<a href="${PATH}/email">Change email address</a>` : ""}
    </p>
    !${field({ name: "name", label: "Name", autocomplete: "name", isRequired: true }, shown)}
    <button>Save</button>
  </form>`;
}

function accountForm({ csrf, membership }: Member, form: FormState): string {
  if (!isAllowed(membership.role, "renameAccount")) return "";
  const { accountName } = membership;
  const shown = "accountName" in form.values ? form : { ...form, values: { ...form.values, accountName } };
  return html`<h2>Account</h2>
    <form method="post" action="${PATH}/account" class="card stack">
      !${csrfField(csrf)}
      <p class="muted">Account ID: <code>${membership.accountId}</code></p>
      !${field({ name: "accountName", label: "Account name", help: "Shown to its members, in emails and on receipts.", isRequired: true }, shown)}
      <button>Save account name</button>
      !${isAllowed(membership.role, "closeAccount") && !membership.isSuspended ? html`<p><a class="danger" href="${PATH}/close" data-dialog>Close account</a></p>` : ""}
    </form>`;
}

function passwordForm({ csrf, person }: Member, form: FormState): string {
  return html`<h2>Password</h2>
    <form method="post" action="${PATH}/password" class="card stack">
      !${csrfField(csrf)}
      <input type="email" name="username" value="${person.email}" autocomplete="username" hidden />
      !${field({ name: "current", label: "Current password", type: "password", autocomplete: "current-password", isRequired: true }, form)}
      !${field({ name: "password", label: "New password", type: "password", help: "At least 10 characters. You will be signed out everywhere else.", autocomplete: "new-password", isRequired: true }, form)}
      <button>Change password</button>
    </form>`;
}

function sessionList(sessions: readonly Session[], { csrf, session: mine }: Member): string {
  const items = sessions.map(
    ({ id, userAgent, createdAt, lastSeenAt }) =>
      html`<li>
        <p>
          <strong>${browserName(userAgent)}</strong>
          !${id === mine.id ? html`<span class="badge active">this browser</span>` : ""}<br />
          <span class="muted small">Signed in !${moment(createdAt)}, last active !${moment(lastSeenAt)}</span>
        </p>
        !${id === mine.id ? "" : html`<form method="post" action="${PATH}/sessions/${id}/end">!${csrfField(csrf)}<button class="quiet">Sign out</button></form>`}
      </li>`,
  );
  const others = html`<p><a class="button" href="${PATH}/sessions/end-others" data-dialog>Sign out everywhere else</a></p>`;
  return html`<div class="card stack">
    <ul class="rows">
      !${items.join("")}
    </ul>
    !${sessions.length > 1 ? others : ""}
  </div>`;
}

export function confirmEndOthersPage({ visitor, others }: { visitor: Member; others: number }): string {
  return confirmPage({
    visitor,
    path: PATH,
    title: "Sign out everywhere else?",
    body: html`<p>
      ${counted(others, "other session")} ${others === 1 ? "ends" : "end"} immediately. You stay signed in in this browser.
    </p>`,
    action: `${PATH}/sessions/end-others`,
    button: "Sign out everywhere else",
    cancel: PATH,
  });
}
