import { html } from "ghtml";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { NamedProject } from "../../../ledger/projects/project-list.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { csrfField } from "../csrf-field.ts";
import { field, formProblem, textArea } from "../field.ts";
import { layout } from "../layout.ts";
import { limitInputs } from "../limits/account-limits.ts";
import { promptLogChoice, promptLogLinks } from "./prompt-log.ts";

export interface KeyForm {
  visitor: Member;
  form: FormState;
  models: readonly ListedModel[];
  /** To choose one of them. */
  projects: readonly NamedProject[];
  /** null for a new key. */
  key: ListedKey | null;
  /** The operator of the service lets accounts record prompts. */
  hasPromptLog: boolean;
  /** The visitor may read what the key records, or has recorded. */
  mayRead: boolean;
  /** From where the page was opened, as it would be compared with the addresses. */
  address: string;
}

export function keyFormPage({ visitor, form, models, projects, key, hasPromptLog, mayRead, address }: KeyForm): string {
  const title = key === null ? "Create key" : key.name;
  const action = key === null ? "/dashboard/keys/new" : `/dashboard/keys/${key.publicId}`;
  const mayChange = isAllowed(visitor.membership.role, "manageKeys");
  const buttons = html`<div class="buttons">
    <button class="primary">${key === null ? "Create key" : "Save"}</button>
    <a class="button quiet" href="/dashboard/keys">Cancel</a>
  </div>`;
  const inputs = html`!${field({ name: "name", label: "Name", help: "Who or what uses it, such as “laptop” or “build server”.", isRequired: true }, form)}
    !${projects.length === 0 && form.problems["project"] === undefined ? "" : projectChoice(projects, form, key)}
    !${modelChoice(models, form)}
    !${field({ name: "expires", label: "Expires", type: "date", help: "Optional. The last day on which it works, in UTC." }, form)}
    !${textArea(
      {
        name: "addresses",
        label: "Allowed addresses",
        rows: rowsFor(form.values["addresses"]),
        help: `Optional. IP addresses and ranges such as 203.0.113.0/24, one per line. Requests from elsewhere are refused. Your current address is ${address}.`,
      },
      form,
    )}
    !${textArea(
      {
        name: "origins",
        label: "Allowed origins",
        rows: rowsFor(form.values["origins"]),
        help: "Optional. For web pages: origins such as https://app.example.com, one per line. Only their pages can then use the key. Anyone who opens a page can read its key.",
      },
      form,
    )}
    !${promptLogChoice({ visitor, form, key, isOffered: hasPromptLog })}
    <fieldset>
      <legend>Limits</legend>
      <p class="help">Optional. Days and months start at midnight UTC.</p>
      !${limitInputs(form)}
    </fieldset>`;
  const body = html`<p class="crumb"><a href="/dashboard/keys">API keys</a></p>
    <h1>${title}</h1>
    !${key === null ? "" : html`<p class="muted"><code>${key.masked}</code></p>`}
    !${
      mayChange
        ? html`<form method="post" action="${action}" class="card stack">
            !${formProblem(form)} !${csrfField(visitor.csrf)} !${inputs} !${buttons}
          </form>`
        : html`<div class="card stack">
            <p class="muted">Your role can view keys, but not change them.</p>
            <fieldset class="plain stack" disabled>!${inputs}</fieldset>
          </div>`
    }
    !${key !== null && mayRead ? promptLogLinks(key) : ""}`;
  return layout({ title, visitor, path: "/dashboard/keys", body, isNarrow: true });
}

function projectChoice(projects: readonly NamedProject[], form: FormState, key: ListedKey | null): string {
  const options: Option[] = [["", "No project"], ...projects.map(({ id, name }): Option => [id, name])];
  const help = key === null ? "The key's usage counts toward it." : "Past usage of the key moves with it.";
  return choice({ name: "project", label: "Project", options, help }, form);
}

function modelChoice(models: readonly ListedModel[], form: FormState): string {
  const chosen = (form.values["models"] ?? "").split(",").filter((name) => name !== "");
  // A model that is no longer served stays selected until somebody removes it.
  const names = [...new Set([...models.map(({ model }) => model.name), ...chosen])];
  const boxes = names.map(
    (name) =>
      html`<label class="check"
        ><input type="checkbox" name="models" value="${name}" !${chosen.includes(name) ? "checked" : ""} />${name}</label
      >`,
  );
  return html`<fieldset>
    <legend>Allowed models</legend>
    <p class="help">Select none to allow all models.</p>
    <div class="grid">!${boxes.join("")}</div>
    !${formProblem(form, "models")}
  </fieldset>`;
}

/** Of a field with one text per line. */
function rowsFor(text = ""): number {
  return Math.min(10, Math.max(3, text.split("\n").length));
}
