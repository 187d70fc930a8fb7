import { html } from "ghtml";
import { PROTOCOLS } from "../../../contract/protocol.ts";
import { INTERFACE_NAMES } from "../interface-names.ts";

/** Reasoning efforts that every protocol has. */
const EFFORTS = { none: "Off", low: "Low", medium: "Medium", high: "High" } as const;

const TOOL_EXAMPLE = `[{ "name": "get_weather", "description": "…", "input_schema": { "type": "object" } }]`;

/** Settings sent with every message of the conversation. An empty field uses the model's default. */
export function settings(): string {
  return html`<details class="card settings" id="settings" open>
    <summary>Settings</summary>
    <div class="stack">
      <div class="field">
        <label for="system">System prompt</label>
        <textarea id="system" rows="4" placeholder="Answer in one sentence."></textarea>
      </div>
      <div class="field">
        <label for="interface">Interface</label>
        <select id="interface" aria-describedby="interface-help">
          <option value="">Automatic</option>
          !${PROTOCOLS.map((each) => html`<option value="${each}">${INTERFACE_NAMES[each]}</option>`).join("")}
        </select>
        <p class="help" id="interface-help">If a model does not support it, another interface is used.</p>
      </div>
      <div class="field">
        <label for="effort">Reasoning effort</label>
        <select id="effort">
          <option value="">Default</option>
          !${Object.entries(EFFORTS)
            .map(([value, name]) => html`<option value="${value}">${name}</option>`)
            .join("")}
        </select>
      </div>
      <div class="grid">
        !${number({ id: "max-tokens", label: "Max tokens", min: 1, max: 1_000_000, step: 1, value: "4096" })}
        !${number({ id: "temperature", label: "Temperature", min: 0, max: 2, step: 0.1 })}
        !${number({ id: "top-p", label: "Top P", min: 0, max: 1, step: 0.05 })}
      </div>
      <div class="field">
        <label for="tools">Tools</label>
        <textarea
          id="tools"
          class="code"
          rows="5"
          spellcheck="false"
          placeholder="${TOOL_EXAMPLE}"
          aria-describedby="tools-help tools-problem"
        ></textarea>
        <p class="help" id="tools-help">
          A JSON list of functions, each with <code>name</code>, <code>description</code> and <code>input_schema</code>. You enter
          what a called tool returns.
        </p>
        <p class="problem" id="tools-problem" role="status" hidden></p>
      </div>
    </div>
  </details>`;
}

function number({
  id,
  label,
  min,
  max,
  step,
  value = "",
}: {
  id: string;
  label: string;
  min: number;
  max: number;
  step: number;
  value?: string;
}): string {
  return html`<div class="field">
    <label for="${id}">${label}</label>
    <input
      type="number"
      id="${id}"
      min="${String(min)}"
      max="${String(max)}"
      step="${String(step)}"
      value="${value}"
      placeholder="Default"
    />
  </div>`;
}
