import { html } from "ghtml";
import { PROMPT_LOG_DAYS } from "../../../contract/prompt-log.ts";
import type { ListedKey } from "../../../ledger/keys/key-list.ts";
import type { FormState } from "../../http/form.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { choice, type Option } from "../choice.ts";
import { confirmPage } from "../confirm.ts";
import { counted } from "../../counted.ts";

const OFFERED = [PROMPT_LOG_DAYS.min, 3, PROMPT_LOG_DAYS.usual, 14, PROMPT_LOG_DAYS.max];

export interface PromptLogChoice {
  visitor: Member;
  form: FormState;
  key: ListedKey | null;
  /** The operator of the service lets accounts record prompts. */
  isOffered: boolean;
}

/** In the form of a key: owners choose, the others are told. */
export function promptLogChoice({ visitor, form, key, isOffered }: PromptLogChoice): string {
  const days = key?.promptLogDays ?? null;
  if (!isOffered && days === null) return "";
  const mayChoose = isAllowed(visitor.membership.role, "managePromptLog");
  if (mayChoose && isOffered) return choice({ ...FIELD, options: optionsWith(days) }, form);
  const words =
    days === null
      ? "Prompts and answers are not recorded. Owners of this account can turn that on."
      : isOffered
        ? `Prompts and answers are recorded. Owners of this account can read them for ${counted(days, "day")}.`
        : "Prompts and answers are not recorded: the operator of this service has turned the prompt log off.";
  return html`<div class="field">
    <p class="label">Prompt log</p>
    <p class="help">${words}</p>
  </div>`;
}

const FIELD = {
  name: "prompt_log",
  label: "Prompt log",
  help: "Records this key's requests and answers for debugging, encrypted. Only owners of this account can read them, here and with the management API, and the audit log shows who did. Records are deleted after this time, or with the key.",
};

function optionsWith(current: number | null): Option[] {
  const days = [...new Set([...OFFERED, ...(current === null ? [] : [current])])].toSorted((a, b) => a - b);
  return [["", "Off"], ...days.map((each): Option => [String(each), `Keep for ${counted(each, "day")}`])];
}

/** Below the form of a key that records prompts, or has; for owners. */
export function promptLogLinks({ publicId }: ListedKey): string {
  return html`<p class="buttons">
    <a class="button" href="/dashboard/prompt-log?key=${publicId}">Recorded prompts</a>
    <a class="button danger" href="/dashboard/keys/${publicId}/prompt-log/delete" data-dialog>Delete recorded prompts</a>
  </p>`;
}

export function confirmDeletePromptsPage({ visitor, key }: { visitor: Member; key: ListedKey }): string {
  const { publicId, name, promptLogDays } = key;
  return confirmPage({
    visitor,
    path: "/dashboard/keys",
    title: `Delete all recorded prompts of “${name}”?`,
    body: html`<p>
      Nobody can read them from now on, and they are erased within minutes.
      !${promptLogDays === null ? "" : "Further requests are recorded as before, until you turn that off."}
    </p>`,
    action: `/dashboard/keys/${publicId}/prompt-log/delete`,
    button: "Delete all",
    cancel: `/dashboard/keys/${publicId}`,
  });
}
