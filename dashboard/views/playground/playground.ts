import { html } from "ghtml";
import type { ListedModel } from "../../../ledger/models/model-list.ts";
import { asset } from "../../assets.ts";
import { isAllowed } from "../../../ledger/people/permissions.ts";
import type { Member } from "../../session/visitor.ts";
import { csrfField } from "../csrf-field.ts";
import { defaultModel } from "../default-model.ts";
import { empty } from "../empty.ts";
import { layout } from "../layout.ts";
import { pane } from "./pane.ts";
import { settings } from "./settings.ts";

export interface Playground {
  visitor: Member;
  models: readonly ListedModel[];
  /** Name of the model requested by a link; undefined, or an unknown name: the default. */
  chosen: string | undefined;
  baseUrl: string;
}

const NO_CHAT = empty("No chat models available", {
  note: "The playground is for conversations. Each model's page shows how to call it from code.",
  more: '<a class="button" href="/dashboard/models">View models</a>',
});

/** assets/playground does the rest: it finds the parts of this page by their ids and `data-part`. */
export function playgroundPage({ visitor, models, chosen, baseUrl }: Playground): string {
  const page = { title: "Playground", visitor, path: "/dashboard/playground" };
  if (models.length === 0) return layout({ ...page, body: `<h1>Playground</h1>${NO_CHAT}` });
  const first = models.find(({ model }) => model.name === chosen) ?? defaultModel(models);
  // A comparison is of two models, where there are two.
  const second = defaultModel(models.filter((each) => each !== first)) ?? first;
  const mayUse = isAllowed(visitor.membership.role, "usePlayground");
  const body = html`<div class="title">
      <h1>Playground</h1>
      <div class="buttons">
        <label class="check"><input type="checkbox" id="compare" autocomplete="off" />Compare</label>
        <button type="button" id="view-code" disabled>View code</button>
        <button type="button" id="new-chat" disabled>New chat</button>
      </div>
    </div>
    <noscript><p class="problem" role="alert">The playground calls models from your browser, and needs JavaScript.</p></noscript>
    !${mayUse ? "" : NOT_ALLOWED}
    <form id="playground" class="playground" autocomplete="off" data-base-url="${baseUrl}">
      !${csrfField(visitor.csrf)}
      <div class="chat">
        <div class="panes">
          !${pane({ id: "first", name: "Model", models, preselected: first })}
          !${pane({ id: "second", name: "Second model", models, preselected: second, isHidden: true })}
        </div>
        !${composer(mayUse)}
      </div>
      !${settings()}
    </form>
    !${CODE}
    <script type="module" src="${asset("playground/main.js")}"></script>`;
  return layout({ ...page, body });
}

const NOT_ALLOWED = html`<p class="alert" role="status">
  As a viewer, you cannot spend this account's credit. Ask an owner to make you a member.
</p>`;

function composer(mayUse: boolean): string {
  return html`<div class="card composer">
    <div class="field">
      <label for="prompt">Message</label>
      <textarea
        id="prompt"
        rows="3"
        maxlength="400000"
        aria-describedby="prompt-help"
        data-allowed="${mayUse ? "yes" : "no"}"
      ></textarea>
      <p class="help" id="prompt-help">
        Press Enter to send, Shift + Enter for a new line. Requests use a temporary API key of yours, and this account pays for
        them.
      </p>
    </div>
    <ul class="attachments" id="attachments" aria-label="Attached images" hidden></ul>
    <p class="problem" role="alert" id="problem" hidden></p>
    <div class="buttons">
      <button class="primary" id="send" disabled>Send</button>
      <button type="button" id="stop" hidden>Stop</button>
      <button type="button" class="quiet" id="attach" disabled>Add images</button>
      <input type="file" id="images" accept="image/png,image/jpeg,image/webp,image/gif" multiple hidden aria-label="Images" />
    </div>
  </div>`;
}

const CODE = html`<dialog id="code" aria-labelledby="code-title">
  <div class="title">
    <h2 id="code-title">Code</h2>
    <button type="button" class="quiet" id="close-code">Close</button>
  </div>
  <p class="muted small">
    The last request, or the next one if you have typed a message, with the model of the first pane. Set
    <code>MODEL_GATEWAY_API_KEY</code> to an <a href="/dashboard/keys">API key</a>.
  </p>
  <div class="switch" role="group" aria-label="Language">
    <button type="button" class="quiet" data-language="curl" aria-pressed="true">curl</button>
    <button type="button" class="quiet" data-language="python" aria-pressed="false">Python</button>
    <button type="button" class="quiet" data-language="javascript" aria-pressed="false">JavaScript</button>
  </div>
  <div class="snippet">
    <pre id="code-text" tabindex="0" aria-label="Code"></pre>
    <button type="button" class="copy" data-copy="code-text" aria-live="polite" hidden>
      Copy<span class="hidden"> code</span>
    </button>
  </div>
</dialog>`;
