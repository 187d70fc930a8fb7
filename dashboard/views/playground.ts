import { html } from "ghtml";
import type { ListedModel } from "../../ledger/models/model-list.ts";
import { asset } from "../assets.ts";
import type { Member } from "../session/visitor.ts";
import { layout } from "./layout.ts";

/** assets/playground.js does the rest: its names of parts are those here. */
export function playgroundPage({ visitor, models }: { visitor: Member; models: readonly ListedModel[] }): string {
  const body = html`<h1>Playground</h1>
    <noscript><p class="problem" role="alert">The playground calls models from your browser, and needs JavaScript.</p></noscript>
    <form id="playground" class="card stack" autocomplete="off">
      <div class="field">
        <label for="key">API key</label>
        <input type="password" id="key" required autocomplete="off" spellcheck="false" aria-describedby="key-help" />
        <p class="help" id="key-help">
          Your own key, <code>sk-mg-…</code>, or <a href="/dashboard/keys/new">create one</a>. It stays on this page. Requests are
          charged as usual.
        </p>
      </div>
      <div class="grid">
        <div class="field">
          <label for="interface">Interface</label>
          <select id="interface">
            <option value="chat">Chat completions</option>
            <option value="messages">Messages</option>
          </select>
        </div>
        <div class="field">
          <label for="model">Model</label>
          <select id="model">
            !${models.map(option).join("")}
          </select>
        </div>
      </div>
      <div class="field">
        <label for="system">System prompt</label>
        <input type="text" id="system" placeholder="Answer in one sentence." />
      </div>
      <div class="field">
        <label for="prompt">Message</label>
        <textarea id="prompt" rows="4" required>What can you do?</textarea>
      </div>
      <div class="buttons">
        <button class="primary" id="send" disabled>Send</button>
        <button type="button" class="quiet" id="stop" hidden>Stop</button>
      </div>
    </form>
    <section class="card stack" aria-labelledby="answer-title" id="result" hidden>
      <h2 id="answer-title">Response</h2>
      <p class="problem" role="alert" id="problem" hidden></p>
      <details id="thinking" hidden>
        <summary>Reasoning</summary>
        <p class="letter muted" id="reasoning"></p>
      </details>
      <p class="letter" id="answer" aria-live="polite" aria-atomic="false"></p>
      <p class="muted small" id="facts" role="status"></p>
      <p class="small"><a id="details" href="/dashboard/usage/requests" hidden>View in logs</a></p>
    </section>
    <script type="module" src="${asset("playground.js")}"></script>`;
  return layout({ title: "Playground", visitor, path: "/dashboard/playground", body, isNarrow: true });
}

function option({ model, price }: ListedModel): string {
  const prices = [price.inputPicoUsd, price.cachedInputPicoUsd, price.cacheWritePicoUsd, price.outputPicoUsd].join(" ");
  return html`<option value="${model.name}" data-interfaces="${model.interfaces.join(" ")}" data-prices="${prices}">
    ${model.name}
  </option>`;
}
