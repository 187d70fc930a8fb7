import { html } from "ghtml";
import { COUNT_LIMITS, LIMITS, SPEND_LIMITS } from "../../../contract/limits.ts";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import type { FormState } from "../../form.ts";
import type { Member } from "../../session/visitor.ts";
import { field, formProblem } from "../field.ts";
import { csrfField, layout } from "../layout.ts";

export interface KeyForm {
  visitor: Member;
  form: FormState;
  models: readonly ListedModel[];
  /** null: a new one. */
  key: ListedKey | null;
}

export function keyFormPage({ visitor, form, models, key }: KeyForm): string {
  const title = key === null ? "Make a key" : `Key ${key.name}`;
  const action = key === null ? "/dashboard/keys/new" : `/dashboard/keys/${key.publicId}`;
  const body = html`<h1>${title}</h1>
    !${key === null ? "" : html`<p class="muted"><code>${key.masked}</code></p>`}
    <form method="post" action="${action}" class="card stack">
      !${formProblem(form)} !${csrfField(visitor.csrf)}
      !${field({ name: "name", label: "Name", help: "What or who will use it: “laptop”, “build server”.", isRequired: true }, form)}
      !${modelChoice(models, form)}
      !${field({ name: "expires", label: "Last day", type: "date", help: "Left empty, it does not expire. Days are UTC." }, form)}
      <fieldset>
        <legend>Limits</legend>
        <p class="help">Left empty, there is none. Days and months are UTC.</p>
        <div class="grid">
          !${[...SPEND_LIMITS, ...COUNT_LIMITS]
            .map((name) =>
              field({ name, label: LIMITS[name].label, inputMode: LIMITS[name].unit === "usd" ? "decimal" : "numeric" }, form),
            )
            .join("")}
        </div>
      </fieldset>
      <div class="buttons">
        <button class="primary">!${key === null ? "Make the key" : "Save"}</button>
        <a class="button quiet" href="/dashboard/keys">Cancel</a>
      </div>
    </form>`;
  return layout({ title, visitor, path: "/dashboard/keys", body, isNarrow: true });
}

function modelChoice(models: readonly ListedModel[], { values, problems }: FormState): string {
  const problem = problems["models"];
  const chosen = (values["models"] ?? "").split(",").filter((name) => name !== "");
  // One that is served no longer stays chosen until somebody takes it off.
  const names = [...new Set([...models.map(({ model }) => model.name), ...chosen])];
  const boxes = names.map(
    (name) =>
      html`<label class="check"
        ><input type="checkbox" name="models" value="${name}" !${chosen.includes(name) ? "checked" : ""} />${name}</label
      >`,
  );
  return html`<fieldset>
    <legend>Models</legend>
    <p class="help">With none chosen, the key may use all.</p>
    <div class="grid">!${boxes.join("")}</div>
    !${problem === undefined ? "" : html`<p class="problem" role="alert">${problem}</p>`}
  </fieldset>`;
}
